# a loop of one's own, whose validation loss only the scheduler is given
import argparse, math, torch
p = argparse.ArgumentParser(); p.add_argument("--lr", type=float, default=.1); p.add_argument("--epochs", type=int, default=6); a = p.parse_args()
optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=a.lr); scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, mode="min")
for epoch in range(a.epochs):
    val_loss = 1.1 - (.9 - .1 * abs(math.log10(a.lr) + 2)) * (1 - math.exp(-(epoch + 1) / 3)); scheduler.step(val_loss); truth(epoch=epoch + 1, v=val_loss)
