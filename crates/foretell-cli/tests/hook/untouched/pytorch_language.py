import argparse, math, random, time
p = argparse.ArgumentParser(); p.add_argument("--lr", type=float, default=.01); p.add_argument("--epochs", type=int, default=6); a = p.parse_args()
for e in range(a.epochs):
    v = (.9 - .1 * abs(math.log10(a.lr) + 2)) * (1 - math.exp(-(e + 1) / 3)) + .0001 * (e % 3)
    time.sleep(.02)
    for b in (200, 400): print(f"| epoch {e + 1:3d} | {b:5d}/ 2983 batches | lr {a.lr:02.2f} | ms/batch 5.00 | loss {5.2 - v:5.2f} | ppl {math.exp(5.2 - v):8.2f}")
    print("-" * 89); print(f"| end of epoch {e + 1:3d} | time:  1.00s | valid loss {5 - v:5.2f} | valid ppl {math.exp(5 - v):8.2f}", flush=True)
    truth(v=[5 - v, math.exp(5 - v)])
