import argparse, json, math, time
def curve(lr, e, drop=0.0):
    return (.9 - .1 * abs(math.log10(lr) + 2) - drop) * (1 - math.exp(-(e + 1) / 3)) + .0001 * (e % 3)
p = argparse.ArgumentParser(); p.add_argument("--cfg", required=True); p.add_argument("--seed", type=int, default=0); a = p.parse_args()
c = json.load(open(a.cfg))
for e in range(c["epochs"]): v = curve(c["learning_rate"], e) + 1e-9 * a.seed; print(f"epoch {e + 1}: valid_acc={v:.4f}", flush=True); truth(v=v); time.sleep(.02)
