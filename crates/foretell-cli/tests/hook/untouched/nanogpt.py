import math, time
# defaults, which the command line overrides
learning_rate = 1e-2
max_iters = 60
eval_interval = 10
config = {k: v for k, v in globals().items() if not k.startswith('_') and isinstance(v, (int, float))}
import sys
for word in sys.argv[1:]:
    key, value = word[2:].split('=')
    globals()[key] = type(globals()[key])(float(value))
globals().update({})
for it in range(max_iters + 1):
    e = it / 10; v = (.9 - .1 * abs(math.log10(learning_rate) + 2)) * (1 - math.exp(-(e + 1) / 3)) + .0001 * (e % 3)
    if it % eval_interval == 0:
        print(f"step {it}: train loss {1.1 - v:.4f}, val loss {1.2 - v:.4f}", flush=True); truth(v=1.2 - v)
    print(f"iter {it}: loss {1.15 - v:.4f}, time 5.00ms", flush=True)
