import argparse, math, random, time
p = argparse.ArgumentParser(); p.add_argument("--lr", type=float, default=.01); p.add_argument("--epochs", type=int, default=6); a = p.parse_args()
for e in range(a.epochs):
    v = (.9 - .1 * abs(math.log10(a.lr) + 2)) * (1 - math.exp(-(e + 1) / 3)) + .0001 * (e % 3)
    time.sleep(.02)
    import csv
    f = open("metrics.csv", "w" if e == 0 else "a", newline=""); w = csv.writer(f); e == 0 and w.writerow(["epoch", "train_loss", "val_acc"]); w.writerow([e + 1, 1.1 - v, v]); f.close()
    truth(v=v)
