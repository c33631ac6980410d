"""LightGBM with early stopping, on data made here."""
import argparse

import lightgbm
import numpy
from training import Training

parser = argparse.ArgumentParser(formatter_class=argparse.ArgumentDefaultsHelpFormatter)
parser.add_argument("--learning-rate", type=float, default=0.3, help="shrinkage")
parser.add_argument("--num-leaves", type=int, default=31, help="leaves of a tree")
parser.add_argument("--min-child-samples", type=int, default=20, help="samples of a leaf")
parser.add_argument("--num-boost-round", type=int, default=60, help="rounds at most")
parser.add_argument("--seed", type=int, default=0, help="seed")
args = parser.parse_args()
random = numpy.random.default_rng(0)
inputs = random.normal(size=(1500, 8))
targets = inputs[:, 0] * inputs[:, 1] + numpy.sin(3 * inputs[:, 2]) + 0.3 * random.normal(size=1500)
train, held_out = lightgbm.Dataset(inputs[:1000], targets[:1000]), lightgbm.Dataset(inputs[1000:], targets[1000:])
training = Training(args.num_boost_round, args.learning_rate, num_leaves=args.num_leaves, min_child_samples=args.min_child_samples, seed=args.seed)


def count(_):
    training.epoch()


settings = {"objective": "l2", "learning_rate": args.learning_rate, "num_leaves": args.num_leaves, "min_child_samples": args.min_child_samples, "seed": args.seed, "verbosity": 1, "num_threads": 1}
lightgbm.train(settings, train, args.num_boost_round, [held_out], callbacks=[lightgbm.early_stopping(5), lightgbm.log_evaluation(1), count])
training.whole = training.done
training.write()
