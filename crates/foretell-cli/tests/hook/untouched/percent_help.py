import argparse, math, random, time
p = argparse.ArgumentParser(); p.add_argument("--lr", type=float, default=.01); p.add_argument("--epochs", type=int, default=6); p.add_argument("--dropout", type=float, default=.1, help="the rate (default: 0.5)"); p.add_argument("--warmup", type=int, default=None); a = p.parse_args()
for e in range(a.epochs):
    v = (.9 - .1 * abs(math.log10(a.lr) + 2)) * (1 - math.exp(-(e + 1) / 3)) + .0001 * (e % 3)
    time.sleep(.02)
    print(f"epoch {e + 1}/{a.epochs} val_accuracy={100 * v:.2f}%", flush=True)
    truth(v=100 * v)
