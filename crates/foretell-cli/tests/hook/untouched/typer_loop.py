import math, time, typer
def main(lr: float = .01, num_layers: int = 2, epochs: int = 6):
    for e in range(epochs):
        v = (.9 - .1 * abs(math.log10(lr) + 2)) * (1 - math.exp(-(e + 1) / 3)) + .0001 * (e % 3); print(f"epoch {e + 1} val_acc {v:.4f}", flush=True); truth(v=v); time.sleep(.02)
typer.run(main)
