"""The settings as argparse prints them, then values without numbers."""
import argparse
from counted import epochs

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--epochs", type=int, default=8)
args = parser.parse_args()
print(args)
for _, value in epochs(args.lr, args.epochs):
    print(f"train_loss=0.5 val_acc={value}")
