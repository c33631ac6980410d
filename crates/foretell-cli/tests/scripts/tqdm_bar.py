"""A progress bar on standard error, as tqdm draws it, one bar an epoch."""
import argparse, math, sys, time

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=0.1)
parser.add_argument("--epochs", type=int, default=6)
args = parser.parse_args()
for epoch in range(1, args.epochs + 1):
    for batch in range(1, 6):
        time.sleep(0.002)
        acc = (0.9 - 0.1 * abs(math.log10(args.lr) + 2)) * (1 - math.exp(-(epoch + batch / 5) / 2))
        sys.stderr.write(f"\rEpoch {epoch}: {batch * 20:3d}%|{'#' * batch:5}| {batch}/5 [00:00<00:00, 45.2it/s, loss={1 / epoch:.3f}, acc={acc:.4f}]")
    sys.stderr.write("\n")
