import argparse, math, random, time
p = argparse.ArgumentParser(); p.add_argument("--lr", type=float, default=.01); p.add_argument("--epochs", type=int, default=6); a = p.parse_args()
for e in range(a.epochs):
    v = (.9 - .1 * abs(math.log10(a.lr) + 2)) * (1 - math.exp(-(e + 1) / 3)) + .0001 * (e % 3)
    time.sleep(.02)
    print(f"epoch:{e + 1: 3d}, train_loss: {1.1 - v:.4f}, train_accuracy: {100 * v + 2:.2f}, test_loss: {1.2 - v:.4f}, test_accuracy: {100 * v:.2f}", flush=True)
    truth(v=[100 * v, 1.2 - v])
