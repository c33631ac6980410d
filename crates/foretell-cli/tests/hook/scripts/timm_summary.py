import argparse, math
from collections import OrderedDict
from timm.utils import update_summary
p = argparse.ArgumentParser(); p.add_argument("--lr", type=float, default=.01); p.add_argument("--epochs", type=int, default=5); a = p.parse_args()
for e in range(a.epochs):
    v = (.9 - .1 * abs(math.log10(a.lr) + 2)) * (1 - math.exp(-(e + 1) / 3)); update_summary(e, OrderedDict(loss=1.1 - v), OrderedDict(loss=1.2 - v, top1=100 * v), "summary.csv", write_header=e == 0); truth(epoch=e + 1, v=100 * v)
