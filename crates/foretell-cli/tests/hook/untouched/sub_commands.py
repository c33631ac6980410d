import argparse, math, random, time
p = argparse.ArgumentParser(); p.add_argument("--seed", type=int, default=1); s = p.add_subparsers(dest="task", required=True); t = s.add_parser("train"); t.add_argument("--lr", type=float, default=.01); t.add_argument("--epochs", type=int, default=6); s.add_parser("export").add_argument("file"); a = p.parse_args()
for e in range(a.epochs):
    v = (.9 - .1 * abs(math.log10(a.lr) + 2)) * (1 - math.exp(-(e + 1) / 3)) + .0001 * (e % 3); print(f"epoch {e + 1} val_acc {v:.4f}", flush=True); truth(v=v); time.sleep(.02)
