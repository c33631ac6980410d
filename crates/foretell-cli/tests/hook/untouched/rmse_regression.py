import argparse, math, time, logging, sys
def curve(lr, e, drop=0.0):
    return (.9 - .1 * abs(math.log10(lr) + 2) - drop) * (1 - math.exp(-(e + 1) / 3)) + .0001 * (e % 3)
p = argparse.ArgumentParser(); p.add_argument("--lr", type=float, default=1e-2); p.add_argument("--n-epochs", type=int, default=5); a = p.parse_args()
logging.basicConfig(format="%(asctime)s | %(levelname)s | %(name)s - %(message)s", level=logging.INFO, stream=sys.stdout)
log = logging.getLogger("trainer")
for e in range(a.n_epochs):
    v = 1.3 - curve(a.lr, e); time.sleep(.02); log.info("Epoch %03d: train RMSE: %.5f, valid RMSE: %.5f, lr: %.2e", e, v - .1, v, a.lr * .9 ** e); truth(v=v)
