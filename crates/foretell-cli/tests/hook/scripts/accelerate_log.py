import argparse, math
from accelerate import Accelerator
p = argparse.ArgumentParser(); p.add_argument("--lr", type=float, default=.01); p.add_argument("--epochs", type=int, default=5); a = p.parse_args()
accelerator = Accelerator(cpu=True, log_with="tensorboard", project_dir="tb"); accelerator.init_trackers("run", config=vars(a))
for e in range(a.epochs):
    v = (.9 - .1 * abs(math.log10(a.lr) + 2)) * (1 - math.exp(-(e + 1) / 3)); accelerator.log({"val_acc": v, "train_loss": 1.1 - v}, step=e + 1); truth(step=e + 1, v=v)
accelerator.end_training()
