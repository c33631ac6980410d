import argparse, math, random, time
p = argparse.ArgumentParser(); p.add_argument("--lr", type=float, default=.01); p.add_argument("--epochs", type=int, default=6); a = p.parse_args()
for e in range(a.epochs):
    v = (.9 - .1 * abs(math.log10(a.lr) + 2)) * (1 - math.exp(-(e + 1) / 3)) + .0001 * (e % 3)
    time.sleep(.02)
    for b in range(0, 30, 10): print(f"Epoch: [{e}][{b:2d}/30]\tTime  0.1 ( 0.1)\tLoss {1.2 - v:.4e} ({1.2 - v:.4e})\tAcc@1 {100 * v + b:6.2f} ({100 * v + b:6.2f})")
    print(f" *   Acc@1 {100 * v:.3f} Acc@5 {100 * v + 5:.3f}", flush=True)
    truth(v=100 * v)
