import argparse, math, random, time
p = argparse.ArgumentParser(); p.add_argument("--lr", type=float, default=.01); p.add_argument("--epochs", type=int, default=6); a = p.parse_args()
for e in range(a.epochs):
    v = (.9 - .1 * abs(math.log10(a.lr) + 2)) * (1 - math.exp(-(e + 1) / 3)) + .0001 * (e % 3)
    time.sleep(.02)
    for b in range(0, 5): print(f"Train Epoch: {e + 1} [{b * 640}/3200 ({20 * b:.0f}%)]\tLoss: {1.2 - v + .01 * b:.6f}")
    print(f"\nTest set: Average loss: {1.1 - v:.4f}, Accuracy: {int(1e4 * v)}/10000 ({100 * v:.0f}%)\n", flush=True)
    truth(v=[1.1 - v, int(1e4 * v) / 1e4, round(100 * v)])
