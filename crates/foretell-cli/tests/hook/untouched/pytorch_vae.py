import argparse, math, random, time
p = argparse.ArgumentParser(); p.add_argument("--lr", type=float, default=.01); p.add_argument("--epochs", type=int, default=6); a = p.parse_args()
for e in range(a.epochs):
    v = (.9 - .1 * abs(math.log10(a.lr) + 2)) * (1 - math.exp(-(e + 1) / 3)) + .0001 * (e % 3)
    time.sleep(.02)
    for b in range(2): print(f"Train Epoch: {e + 1} [{b * 128}/60000 ({b:.0f}%)]\tLoss: {150 - 40 * v:.6f}")
    print(f"====> Epoch: {e + 1} Average loss: {150 - 40 * v:.4f}"); print(f"====> Test set loss: {148 - 40 * v:.4f}", flush=True)
    truth(v=148 - 40 * v)
