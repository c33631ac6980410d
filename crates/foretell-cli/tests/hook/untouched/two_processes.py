import argparse, math, time, multiprocessing as mp
def curve(lr, e, drop=0.0):
    return (.9 - .1 * abs(math.log10(lr) + 2) - drop) * (1 - math.exp(-(e + 1) / 3)) + .0001 * (e % 3)
def work(rank, a):
    for e in range(a.epochs):
        v = curve(a.lr, e, .01 * rank); time.sleep(.05 + .01 * rank); print(f"[rank {rank}] epoch {e + 1} loss {1.2 - v:.4f} val_acc {v:.4f}", flush=True)
        if rank == 0: truth(v=v)
if __name__ == "__main__":
    p = argparse.ArgumentParser(); p.add_argument("--lr", type=float, default=1e-2); p.add_argument("--epochs", type=int, default=5); p.add_argument("--nproc", type=int, default=2); a = p.parse_args()
    ps = [mp.get_context("spawn").Process(target=work, args=(r, a)) for r in range(a.nproc)]
    [q.start() for q in ps]; [q.join() for q in ps]
