import math, time
def curve(lr, e, drop=0.0):
    return (.9 - .1 * abs(math.log10(lr) + 2) - drop) * (1 - math.exp(-(e + 1) / 3)) + .0001 * (e % 3)
LR = 1e-2; EPOCHS = 5
for e in range(EPOCHS):
    v = curve(LR, e); time.sleep(.02); print(f"epoch {e + 1} val_acc {v:.4f}", flush=True); truth(v=v)
