import argparse, math, time
from tensorboardX import SummaryWriter
def curve(lr, e, drop=0.0):
    return (.9 - .1 * abs(math.log10(lr) + 2) - drop) * (1 - math.exp(-(e + 1) / 3)) + .0001 * (e % 3)
p = argparse.ArgumentParser(); p.add_argument("--lr", type=float, default=1e-2); p.add_argument("--gamma", type=float, default=.9); p.add_argument("--epochs", type=int, default=5); p.add_argument("--logdir", default="runs/x"); a = p.parse_args()
w = SummaryWriter(a.logdir); step = 0
for epoch in range(a.epochs):
    for b in range(10): w.add_scalar("loss/train", 1.5 - curve(a.lr, epoch + b / 10), step); step += 1
    v = curve(a.lr, epoch); w.add_scalars("metrics", {"f1_val": v, "f1_train": v + .05}, epoch); w.add_scalar("loss/val", 1.2 - v, epoch); truth(v=[v, 1.2 - v]); time.sleep(.02)
w.close()
