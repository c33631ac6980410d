import argparse, math, time
def curve(lr, e, drop=0.0):
    return (.9 - .1 * abs(math.log10(lr) + 2) - drop) * (1 - math.exp(-(e + 1) / 3)) + .0001 * (e % 3)
p = argparse.ArgumentParser(); p.add_argument("--sharpness", type=float, default=.01); p.add_argument("--mixing", type=float, default=.3); p.add_argument("--memory-slots", type=int, default=8); p.add_argument("--sweeps", type=int, default=5); a = p.parse_args()
for e in range(a.sweeps):
    v = curve(a.sharpness, e) - a.mixing / 100; time.sleep(.02); print(f"sweep {e + 1} val_acc {v:.4f}", flush=True); truth(v=v)
