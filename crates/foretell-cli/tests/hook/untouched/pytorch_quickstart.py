import argparse, math, random, time
p = argparse.ArgumentParser(); p.add_argument("--lr", type=float, default=.01); p.add_argument("--epochs", type=int, default=6); a = p.parse_args()
for e in range(a.epochs):
    v = (.9 - .1 * abs(math.log10(a.lr) + 2)) * (1 - math.exp(-(e + 1) / 3)) + .0001 * (e % 3)
    time.sleep(.02)
    print(f"Epoch {e + 1}\n-------------------------------")
    for b in range(3): print(f"loss: {1.3 - v - .01 * b:>7f}  [{b * 6400:>5d}/60000]")
    print(f"Test Error: \n Accuracy: {100 * v:>0.1f}%, Avg loss: {1.1 - v:>8f} \n", flush=True)
    truth(v=[100 * v, 1.1 - v])
