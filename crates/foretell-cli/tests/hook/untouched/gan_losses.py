import argparse, math, time
def curve(lr, e, drop=0.0):
    return (.9 - .1 * abs(math.log10(lr) + 2) - drop) * (1 - math.exp(-(e + 1) / 3)) + .0001 * (e % 3)
p = argparse.ArgumentParser(); p.add_argument("--n_epochs", type=int, default=5); p.add_argument("--lr", type=float, default=2e-3); p.add_argument("--b1", type=float, default=.5); p.add_argument("--latent_dim", type=int, default=100); a = p.parse_args()
for e in range(a.n_epochs):
    for i in range(3):
        d = 1.4 - curve(a.lr, e + i / 3); print("[Epoch %d/%d] [Batch %d/%d] [D loss: %f] [G loss: %f]" % (e, a.n_epochs, i, 3, d, 2 - d))
    time.sleep(.02); f = 80 - 50 * curve(a.lr, e); print(f"FID: {f:.3f}", flush=True); truth(v=f)
