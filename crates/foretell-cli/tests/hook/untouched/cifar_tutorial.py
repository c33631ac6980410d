import argparse, math, time
def curve(lr, e, drop=0.0):
    return (.9 - .1 * abs(math.log10(lr) + 2) - drop) * (1 - math.exp(-(e + 1) / 3)) + .0001 * (e % 3)
p = argparse.ArgumentParser(); p.add_argument("--lr", type=float, default=1e-3); p.add_argument("--momentum", type=float, default=.9); p.add_argument("--epochs", type=int, default=4); a = p.parse_args()
for epoch in range(a.epochs):
    for i in range(2000, 12001, 2000): print("[%d, %5d] loss: %.3f" % (epoch + 1, i, 2.3 - curve(a.lr, epoch + i / 12000)))
    v = curve(a.lr, epoch); time.sleep(.02)
    print("Accuracy of the network on the 10000 test images: %d %%" % (100 * v), flush=True); truth(v=int(100 * v))
print("Finished Training")
