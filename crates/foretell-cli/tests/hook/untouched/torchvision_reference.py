import argparse, math, random, time
p = argparse.ArgumentParser(); p.add_argument("--lr", type=float, default=.01); p.add_argument("--epochs", type=int, default=6); a = p.parse_args()
for e in range(a.epochs):
    v = (.9 - .1 * abs(math.log10(a.lr) + 2)) * (1 - math.exp(-(e + 1) / 3)) + .0001 * (e % 3)
    time.sleep(.02)
    for b in (0, 10): print(f"Epoch: [{e}]  [{b:2d}/20]  eta: 0:00:01  lr: {a.lr}  loss: {1.2 - v:.4f} ({1.2 - v:.4f})  acc1: {100 * v + 5 + b:.4f} ({100 * v + 5:.4f})")
    print(f"Test:  Acc@1 {100 * v:.3f} Acc@5 {100 * v + 8:.3f}", flush=True)
    truth(v=100 * v)
