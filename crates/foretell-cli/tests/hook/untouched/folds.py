import argparse, math, random, time
p = argparse.ArgumentParser(); p.add_argument("--lr", type=float, default=.01); p.add_argument("--epochs", type=int, default=4); p.add_argument("--folds", type=int, default=3); a = p.parse_args()
for fold in range(a.folds):
    for e in range(a.epochs):
        v = (.9 - .1 * abs(math.log10(a.lr) + 2)) * (1 - math.exp(-(e + 1) / 3)) + .0001 * (e % 3) - .02 * fold
        print(f"fold {fold} epoch {e + 1} val_acc {v:.4f}", flush=True); time.sleep(.02); truth(v=v, fold=fold)
