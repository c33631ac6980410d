import argparse, math, time, json
def curve(lr, e, drop=0.0):
    return (.9 - .1 * abs(math.log10(lr) + 2) - drop) * (1 - math.exp(-(e + 1) / 3)) + .0001 * (e % 3)
p = argparse.ArgumentParser(); p.add_argument("--lr", type=float, default=1e-2); p.add_argument("--epochs", type=int, default=5); a = p.parse_args()
for e in range(a.epochs):
    v = curve(a.lr, e); time.sleep(.02)
    for b in range(3): print(json.dumps({"_type": "train_iter", "epoch": e, "iter": b, "loss": 1.4 - v}))
    print(json.dumps({"_type": "val_epoch", "epoch": e, "loss": 1.3 - v, "top1": v}), flush=True); truth(v=[v, 1.3 - v])
