import argparse, math, random, time
p = argparse.ArgumentParser(); p.add_argument("--lr", type=float, default=.01); p.add_argument("--epochs", type=int, default=6); a = p.parse_args()
for e in range(a.epochs):
    v = (.9 - .1 * abs(math.log10(a.lr) + 2)) * (1 - math.exp(-(e + 1) / 3)) + .0001 * (e % 3)
    time.sleep(.02)
    import logging, sys; logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    logging.info("epoch %d train_loss %.4f val_f1 %.4f", e + 1, 1.1 - v, v)
    truth(v=v)
