"""Progress as Lightning prints it: epochs from 0, values of the epoch before until the end."""
import argparse, math, time

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--max_epochs", type=int, default=6)
args = parser.parse_args()
last = ""
for epoch in range(args.max_epochs):
    for batch in range(1, 4):
        time.sleep(0.002)
        print(f"\rEpoch {epoch}: {batch * 33:3d}%|{'█' * batch:3}| {batch}/3 [00:00<00:00, 99.1it/s, v_num=0, train_loss={1 / (epoch + 1):.3f}{last}]", end="")
    last = f", val_acc={(0.9 - 0.1 * abs(math.log10(args.lr) + 2)) * (1 - 0.5 ** (epoch + 1)):.4f}"
    print(f"\rEpoch {epoch}: 100%|███| 3/3 [00:00<00:00, 99.1it/s, v_num=0, train_loss={1 / (epoch + 1):.3f}{last}]", end="")
print("\n`Trainer.fit` stopped: `max_epochs` reached.")
