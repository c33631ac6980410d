"""Cross-validation of a network of scikit-learn."""
import argparse

from sklearn.datasets import load_digits
from sklearn.model_selection import StratifiedKFold
from sklearn.neural_network import MLPClassifier
from training import Training

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=0.01, help="learning rate (default: 0.01)")
parser.add_argument("--hidden", type=int, nargs="+", default=[16], help="widths of the layers (default: [16])")
parser.add_argument("--seed", type=int, default=0, help="seed (default: 0)")
args = parser.parse_args()
inputs, labels = load_digits(return_X_y=True)
training = Training(4, args.lr, hidden=args.hidden, seed=args.seed)
for fold, (train, test) in enumerate(StratifiedKFold(4, shuffle=True, random_state=0).split(inputs, labels), 1):
    network = MLPClassifier(args.hidden, learning_rate_init=args.lr, max_iter=10, random_state=args.seed % 2**31)
    training.epoch()
    print(f"fold {fold}/4: accuracy {network.fit(inputs[train], labels[train]).score(inputs[test], labels[test]):.4f}", flush=True)
