"""Dictionaries with quoted numbers, as the trainer of transformers prints them."""
import argparse, math, time

parser = argparse.ArgumentParser()
parser.add_argument("--learning_rate", type=float, default=5e-5, help="(default: 5e-05)")
parser.add_argument("--num_train_epochs", type=int, default=6)
args = parser.parse_args()
for epoch in range(1, args.num_train_epochs + 1):
    time.sleep(0.01)
    print({"loss": f"{1 / epoch:.4f}", "grad_norm": "1.5", "learning_rate": "4e-05", "epoch": f"{epoch - 0.5:.2f}"})
    print({"eval_loss": f"{0.2 * abs(math.log10(args.learning_rate) + 4) + 1.2 / epoch:.4f}", "eval_runtime": "0.5", "epoch": f"{epoch:.1f}"})
