"""Options by argparse, one plain line an epoch."""
import argparse, math, time

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=0.1, help="learning rate (default: 0.1)")
parser.add_argument("--optimizer", choices=["sgd", "adam"], default="sgd")
parser.add_argument("--epochs", type=int, default=6)
args = parser.parse_args()
for epoch in range(1, args.epochs + 1):
    time.sleep(0.01)
    top = 0.9 - 0.1 * abs(math.log10(args.lr) + 2)
    print(f"epoch {epoch}: train_loss {1 / epoch:.4f} val_acc {top * (1 - math.exp(-epoch / 2)):.4f}")
