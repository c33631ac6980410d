import os; os.environ["WANDB_MODE"] = "offline"; os.environ["WANDB_SILENT"] = "true"
import argparse, math, time, wandb
def curve(lr, e, drop=0.0):
    return (.9 - .1 * abs(math.log10(lr) + 2) - drop) * (1 - math.exp(-(e + 1) / 3)) + .0001 * (e % 3)
p = argparse.ArgumentParser(); p.add_argument("--lr", type=float, default=1e-2); p.add_argument("--epochs", type=int, default=5); a = p.parse_args()
wandb.init(project="x", config=vars(a))
for e in range(a.epochs):
    for b in range(5): wandb.log({"batch/loss": 1.5 - curve(a.lr, e)})
    v = curve(a.lr, e); wandb.log({"epoch": e, "val/f1": v, "val/loss": 1.2 - v}); truth(v=[v, 1.2 - v]); time.sleep(.02)
wandb.finish()
