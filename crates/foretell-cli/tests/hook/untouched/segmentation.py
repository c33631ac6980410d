import argparse, math, time
def curve(lr, e, drop=0.0):
    return (.9 - .1 * abs(math.log10(lr) + 2) - drop) * (1 - math.exp(-(e + 1) / 3)) + .0001 * (e % 3)
p = argparse.ArgumentParser(); p.add_argument("--lr", type=float, default=1e-2); p.add_argument("--epochs", type=int, default=5); a = p.parse_args()
for e in range(a.epochs):
    v = curve(a.lr, e); time.sleep(.02)
    print(f"Epoch {e}\n" + "-" * 10); print(f"train Loss: {1.2 - v:.4f} Dice: {v + .03:.4f} mIoU: {v:.4f}"); print(f"val Loss: {1.25 - v:.4f} Dice: {v:.4f} mIoU: {v - .05:.4f}\n", flush=True); truth(v=[v, v - .05, 1.25 - v])
print(f"Best val mIoU: {v - .05:4f}")
