"""In the style of LightGBM with early stopping: a line per round, and an end of its own."""
import argparse
from training import Training

parser = argparse.ArgumentParser(formatter_class=argparse.ArgumentDefaultsHelpFormatter)
parser.add_argument("--learning-rate", type=float, default=0.1, help="shrinkage")
parser.add_argument("--num-leaves", type=int, default=31, help="leaves of a tree")
parser.add_argument("--min-child-samples", type=int, default=20, help="samples of a leaf")
parser.add_argument("--feature-fraction", type=float, default=1.0, help="share of the features of a tree")
parser.add_argument("--lambda-l2", type=float, default=0.0, help="regularization")
parser.add_argument("--num-boost-round", type=int, default=40, help="rounds at most")
parser.add_argument("--early-stopping-rounds", type=int, default=5, help="rounds without an improvement")
parser.add_argument("--seed", type=int, default=0, help="seed")
args = parser.parse_args()
assert 0 < args.feature_fraction <= 1 and args.num_leaves > 1
# the rounds it takes until nothing improves any more
best = min(args.num_boost_round, max(6, round(12 - 4 * (args.learning_rate > 0.1) + args.num_leaves / 16)))
training = Training(min(args.num_boost_round, best + args.early_stopping_rounds), args.learning_rate, 0.05, num_leaves=args.num_leaves, seed=args.seed)
print(f"Training until validation scores don't improve for {args.early_stopping_rounds} rounds")
for round_ in range(1, training.whole + 1):
    loss = 1 - training.epoch()
    lost = 1 - training.top * (1 - 2.718 ** (-3 * best / training.whole)) + 0.001 * (round_ - best)
    print(f"[{round_}]\ttraining's binary_logloss: {loss - 0.1:.6f}\tvalid_1's binary_logloss: {loss if round_ <= best else lost:.6f}", flush=True)
if training.whole < args.num_boost_round:
    print(f"Early stopping, best iteration is:\n[{best}]\ttraining's binary_logloss: 0.3\tvalid_1's binary_logloss: 0.4")
