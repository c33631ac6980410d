import argparse, math, random, time
from tqdm import trange
p = argparse.ArgumentParser(); p.add_argument("--lr", type=float, default=.01); p.add_argument("--epochs", type=int, default=6); a = p.parse_args()
bar = trange(a.epochs)
for e in bar:
    v = (.9 - .1 * abs(math.log10(a.lr) + 2)) * (1 - math.exp(-(e + 1) / 3)) + .0001 * (e % 3); bar.set_postfix(loss=1.1 - v, val_acc=v); truth(v=v); time.sleep(.15)
