import argparse, math
from torch.utils.tensorboard import SummaryWriter
p = argparse.ArgumentParser(); p.add_argument("--lr", type=float, default=.01); p.add_argument("--epochs", type=int, default=5); a = p.parse_args()
w = SummaryWriter("tb")
for e in range(a.epochs):
    v = (.9 - .1 * abs(math.log10(a.lr) + 2)) * (1 - math.exp(-(e + 1) / 3)); w.add_scalar("train/loss", 1.1 - v, e); w.add_scalar("val/acc", v, e); truth(step=e, v=v)
w.close()
