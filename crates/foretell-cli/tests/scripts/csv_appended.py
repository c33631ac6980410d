"""Rows appended to a file; nothing is printed."""
import argparse, math, os, time

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--epochs", type=int, default=6)
args = parser.parse_args()
is_new = not os.path.exists("history.csv")
with open("history.csv", "a") as file:
    if is_new:
        file.write("epoch,loss,val_acc\n")
    for epoch in range(1, args.epochs + 1):
        time.sleep(0.03)
        file.write(f"{epoch},{1 / epoch:.4f},{(0.9 - 0.1 * abs(math.log10(args.lr) + 2)) * (1 - 0.5 ** epoch):.4f}\n")
        file.flush()
