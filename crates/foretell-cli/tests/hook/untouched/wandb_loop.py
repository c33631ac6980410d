import os; os.environ["WANDB_MODE"] = "offline"; os.environ["WANDB_SILENT"] = "true"
import argparse, math, random, time
import wandb
p = argparse.ArgumentParser(); p.add_argument("--lr", type=float, default=.01); p.add_argument("--epochs", type=int, default=6); a = p.parse_args()
wandb.init(project="p", config=vars(a), dir="/tmp")
for e in range(a.epochs):
    for i in range(3): wandb.log({"train_loss": 1.3 - .1 * i})
    v = (.9 - .1 * abs(math.log10(a.lr) + 2)) * (1 - math.exp(-(e + 1) / 3)) + .0001 * (e % 3); wandb.log({"val_acc": v, "val_loss": 1.1 - v}); truth(v=v)
wandb.finish()
