import argparse, math, time
from tqdm.auto import trange
def curve(lr, e, drop=0.0):
    return (.9 - .1 * abs(math.log10(lr) + 2) - drop) * (1 - math.exp(-(e + 1) / 3)) + .0001 * (e % 3)
p = argparse.ArgumentParser(); p.add_argument("--lr", type=float, default=1e-2); p.add_argument("--num_epochs", type=int, default=6); a = p.parse_args()
with trange(a.num_epochs) as t:
    for e in t:
        v = curve(a.lr, e); time.sleep(.03); t.set_description(f"Epoch {e}"); t.set_postfix({"train_loss": 1.2 - v, "val_acc": v}); truth(v=v)
