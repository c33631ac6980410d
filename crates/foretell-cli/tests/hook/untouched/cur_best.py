import argparse, math, time
def curve(lr, e, drop=0.0):
    return (.9 - .1 * abs(math.log10(lr) + 2) - drop) * (1 - math.exp(-(e + 1) / 3)) + .0001 * (e % 3)
p = argparse.ArgumentParser(); p.add_argument("--lr", type=float, default=1e-2); p.add_argument("--epochs", type=int, default=7); a = p.parse_args()
best = 0
for e in range(a.epochs):
    v = curve(a.lr, e) - (.1 if e == 3 else 0); best = max(best, v); time.sleep(.02)
    print(f"==> epoch {e + 1}: cur_acc {v:.4f}, best_acc {best:.4f}", flush=True); truth(v=v)
print(f"Best accuracy: {best:.4f}")
