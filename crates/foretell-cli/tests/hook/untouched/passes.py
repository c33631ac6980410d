import argparse, math, random, time
p = argparse.ArgumentParser(); p.add_argument("--lr", type=float, default=.01); p.add_argument("--passes", type=int, default=6); a = p.parse_args()
for e in range(a.passes):
    v = (.9 - .1 * abs(math.log10(a.lr) + 2)) * (1 - math.exp(-(e + 1) / 3)) + .0001 * (e % 3)
    time.sleep(.02)
    print(f"pass {e + 1}: validation accuracy {v:.4f}", flush=True)
    truth(v=v)
