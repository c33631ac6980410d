"""Coloured lines."""
import argparse, math, time

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--epochs", type=int, default=6)
args = parser.parse_args()
for epoch in range(1, args.epochs + 1):
    time.sleep(0.01)
    print(f"\x1b[1;34mepoch\x1b[0m {epoch} \x1b[32mval_f1\x1b[0m: \x1b[33m{(0.9 - 0.1 * abs(math.log10(args.lr) + 2)) * (1 - 0.5 ** epoch):.4f}\x1b[0m")
