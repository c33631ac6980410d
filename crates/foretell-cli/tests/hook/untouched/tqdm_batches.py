import argparse, math, time
from tqdm import tqdm
def curve(lr, e, drop=0.0):
    return (.9 - .1 * abs(math.log10(lr) + 2) - drop) * (1 - math.exp(-(e + 1) / 3)) + .0001 * (e % 3)
p = argparse.ArgumentParser(); p.add_argument("--lr", type=float, default=1e-2); p.add_argument("--epochs", type=int, default=5); a = p.parse_args()
for epoch in range(1, a.epochs + 1):
    bar = tqdm(range(20), desc=f"Epoch {epoch}/{a.epochs}", unit="batch")
    for b in bar:
        bar.set_postfix(loss=1.4 - curve(a.lr, epoch + b / 20), acc=f"{100 * curve(a.lr, epoch - 1 + b / 20):.1f}%"); time.sleep(.002)
    v = curve(a.lr, epoch)
    tqdm.write(f"  val_loss {1.2 - v:.4f}  val_acc {v:.4f}"); truth(v=[1.2 - v, v])
