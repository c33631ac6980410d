"""Progress as Keras prints it: a heading, then a line that is drawn again and again."""
import argparse, math, time

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--epochs", type=int, default=6)
args = parser.parse_args()
for epoch in range(1, args.epochs + 1):
    print(f"Epoch {epoch}/{args.epochs}")
    acc = (0.9 - 0.1 * abs(math.log10(args.lr) + 2)) * (1 - 0.5 ** epoch)
    for batch in range(1, 4):
        time.sleep(0.002)
        print(f"\r\x1b[1m{batch}/3\x1b[0m \x1b[32m━━━\x1b[0m \x1b[1m0s\x1b[0m 2ms/step - accuracy: {acc:.4f} - loss: {1 / epoch:.4f}", end="")
    print(f"\r\x1b[1m3/3\x1b[0m \x1b[32m━━━\x1b[0m \x1b[1m0s\x1b[0m 3ms/step - accuracy: {acc:.4f} - loss: {1 / epoch:.4f} - val_accuracy: {acc - 0.05:.4f} - val_loss: {1.1 / epoch:.4f}")
