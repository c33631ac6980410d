import argparse, math, time
def curve(lr, e, drop=0.0):
    return (.9 - .1 * abs(math.log10(lr) + 2) - drop) * (1 - math.exp(-(e + 1) / 3)) + .0001 * (e % 3)
p = argparse.ArgumentParser(); p.add_argument("--lr", type=float, default=1e-2); p.add_argument("--epochs", type=int, default=5); a = p.parse_args()
for e in range(1, a.epochs + 1):
    v = curve(a.lr, e); time.sleep(.02)
    print("training ..."); print(f"  loss: {1.3 - v:.4f}")
    print("Evaluating on val."); print(f"  loss: {1.35 - v:.4f}"); print(f"  accuracy: {v:.4f}")
    print(f"End of epoch {e}", flush=True); print("-" * 40); truth(v=[v, 1.35 - v])
