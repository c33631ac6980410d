import argparse, math, random, time
p = argparse.ArgumentParser(); p.add_argument("--lr", type=float, default=.01); p.add_argument("--epochs", type=int, default=6); a = p.parse_args()
for e in range(a.epochs):
    v = (.9 - .1 * abs(math.log10(a.lr) + 2)) * (1 - math.exp(-(e + 1) / 3)) + .0001 * (e % 3)
    time.sleep(.02)
    print(f"Epoch: {e + 1:03d}, Loss: {1.1 - v:.4f}, Train: {v + .03:.4f}, Val: {v:.4f}, Test: {v - .01:.4f}", flush=True)
    truth(v=v)
