import argparse, math, random, time
p = argparse.ArgumentParser(); p.add_argument("--lr", type=float, default=.01); p.add_argument("--epochs", type=int, default=6); a = p.parse_args()
for e in range(a.epochs):
    v = (.9 - .1 * abs(math.log10(a.lr) + 2)) * (1 - math.exp(-(e + 1) / 3)) + .0001 * (e % 3)
    time.sleep(.02)
    for b in range(1, 4): print(f"[{e + 1}, {2000 * b:5d}] loss: {1.4 - v - .01 * b:.3f}")
    truth(v=[1.4 - v - .03, 1.4 - v - .02, 1.4 - v - .01])
