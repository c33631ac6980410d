"""Words as Hydra takes them; the whole configuration first, then lines of a logger with epochs from 0."""
import sys
from counted import epochs

config = dict(word.split("=", 1) for word in sys.argv[1:])
print("optim:\n  name: sgd\n  lr: " + config["optim.lr"] + "\ntrainer:\n  epochs: 8\n  max_steps: 800\n  step: 8\nseed: 3\n")
for epoch, value in epochs(float(config["optim.lr"]), 8):
    print(f"[2026-11-23 12:00:0{epoch},000][train][INFO] - epoch={epoch - 1} train/loss=0.5 val/acc={value}")
