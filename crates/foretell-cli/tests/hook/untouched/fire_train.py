import math, time, fire
def curve(lr, e, drop=0.0):
    return (.9 - .1 * abs(math.log10(lr) + 2) - drop) * (1 - math.exp(-(e + 1) / 3)) + .0001 * (e % 3)
def train(lr=1e-2, hidden=(64, 64), epochs=5, opt="adam"):
    for e in range(epochs): v = curve(lr, e); print("epoch:", e + 1, "val_acc:", round(v, 4), flush=True); truth(v=v); time.sleep(.02)
if __name__ == "__main__": fire.Fire(train)
