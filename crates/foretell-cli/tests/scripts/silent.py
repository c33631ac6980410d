"""Silent until the end, then one line."""
import argparse, math, time

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=0.01)
args = parser.parse_args()
time.sleep(0.05)
print(f"final test accuracy: {0.9 - 0.1 * abs(math.log10(args.lr) + 2):.4f}")
