import argparse, math, random, time
from torch.utils.tensorboard import SummaryWriter
p = argparse.ArgumentParser(); p.add_argument("--lr", type=float, default=.01); p.add_argument("--epochs", type=int, default=6); a = p.parse_args()
w = SummaryWriter("tb")
for e in range(a.epochs):
    v = (.9 - .1 * abs(math.log10(a.lr) + 2)) * (1 - math.exp(-(e + 1) / 3)) + .0001 * (e % 3); w.add_scalar("Loss/train", 1.1 - v, e); w.add_scalar("Accuracy/test", v, e); truth(v=v); time.sleep(.02)
w.close()
