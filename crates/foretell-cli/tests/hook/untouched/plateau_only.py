import argparse, math, random, time
import torch
p = argparse.ArgumentParser(); p.add_argument("--lr", type=float, default=.01); p.add_argument("--epochs", type=int, default=6); a = p.parse_args()
o = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=a.lr); s = torch.optim.lr_scheduler.ReduceLROnPlateau(o)
for e in range(a.epochs):
    v = (.9 - .1 * abs(math.log10(a.lr) + 2)) * (1 - math.exp(-(e + 1) / 3)) + .0001 * (e % 3); val_loss = 1.2 - v; s.step(val_loss); truth(v=val_loss); time.sleep(.02)
