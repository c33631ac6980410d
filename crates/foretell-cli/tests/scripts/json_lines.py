"""One JSON object a line, without an envelope."""
import argparse, json, math, time

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--epochs", type=int, default=6)
args = parser.parse_args()
for epoch in range(1, args.epochs + 1):
    time.sleep(0.01)
    print(json.dumps({"epoch": epoch, "loss": 1 / epoch, "val_acc": (0.9 - 0.1 * abs(math.log10(args.lr) + 2)) * (1 - 0.5 ** epoch)}))
