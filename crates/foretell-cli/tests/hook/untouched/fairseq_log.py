import argparse, math, random, time
p = argparse.ArgumentParser(); p.add_argument("--lr", type=float, default=.01); p.add_argument("--epochs", type=int, default=6); a = p.parse_args()
for e in range(a.epochs):
    v = (.9 - .1 * abs(math.log10(a.lr) + 2)) * (1 - math.exp(-(e + 1) / 3)) + .0001 * (e % 3)
    time.sleep(.02)
    print(f"2026-11-25 10:00:00 | INFO | train | epoch {e + 1:03d} | loss {5 - v:.3f} | ppl {2 ** (5 - v):.2f} | wps 900 | num_updates {10 * e + 10}")
    print(f"2026-11-25 10:00:01 | INFO | valid | epoch {e + 1:03d} | valid on 'valid' subset | loss {5.1 - v:.3f} | ppl {2 ** (5.1 - v):.2f} | wps 2000 | num_updates {10 * e + 10}", flush=True)
    truth(v=[5.1 - v, 2 ** (5.1 - v)])
