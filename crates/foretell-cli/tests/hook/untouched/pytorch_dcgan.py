import argparse, math, random, time
p = argparse.ArgumentParser(); p.add_argument("--lr", type=float, default=.01); p.add_argument("--epochs", type=int, default=6); a = p.parse_args()
for e in range(a.epochs):
    v = (.9 - .1 * abs(math.log10(a.lr) + 2)) * (1 - math.exp(-(e + 1) / 3)) + .0001 * (e % 3)
    time.sleep(.02)
    for b in range(2): print(f"[{e}/{a.epochs}][{b}/2] Loss_D: {v:.4f} Loss_G: {2 - v:.4f} D(x): 0.9 D(G(z)): 0.1 / 0.1", flush=True)
    truth(v=[v, 2 - v])
