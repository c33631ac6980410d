"""Fails in its fourth epoch where the rate is large."""
import sys
from counted import epochs

lr = float(sys.argv[1])
for epoch, value in epochs(lr, 8):
    if lr > 0.5 and epoch == 4:
        raise RuntimeError("CUDA out of memory")
    print(f"epoch {epoch} val_acc {value}")
