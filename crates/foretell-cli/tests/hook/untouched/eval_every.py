import argparse, math, time
def curve(lr, e, drop=0.0):
    return (.9 - .1 * abs(math.log10(lr) + 2) - drop) * (1 - math.exp(-(e + 1) / 3)) + .0001 * (e % 3)
p = argparse.ArgumentParser(); p.add_argument("--lr", type=float, default=1e-2); p.add_argument("--max_iters", type=int, default=500); p.add_argument("--eval_interval", type=int, default=100); p.add_argument("--block_size", type=int, default=64); a = p.parse_args()
for it in range(a.max_iters):
    if it % a.eval_interval == 0 or it == a.max_iters - 1:
        v = 2.5 - curve(a.lr, it / 100); print(f"step {it}: train loss {v - .1:.4f}, val loss {v:.4f}", flush=True); truth(v=v); time.sleep(.02)
    if it % 20 == 0: print(f"iter {it}: loss {2.5 - curve(a.lr, it / 100):.4f}, time {1.2:.2f}ms")
