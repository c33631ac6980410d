"""Options as words key=value."""
import math, sys, time

config = dict(word.split("=", 1) for word in sys.argv[1:] if "=" in word)
lr, epochs = float(config["optim.lr"]), int(config["epochs"])
for epoch in range(epochs):
    time.sleep(0.01)
    print(f"[2026-11-23 12:00:0{epoch % 10},000][train][INFO] - epoch={epoch} val/acc={0.9 * (1 - math.exp(-(epoch + 1) / 2)) - 0.05 * abs(math.log10(lr) + 2):.4f}")
