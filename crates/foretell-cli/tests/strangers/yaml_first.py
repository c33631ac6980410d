"""The configuration as YAML, then one map of YAML an epoch."""
import sys
from counted import epochs

print(f"model: resnet\nepoch: 8\niteration: 800\nlr: {sys.argv[1]}\n---")
for epoch, value in epochs(float(sys.argv[1]), 8):
    print(f"{{epoch: {epoch}, mIoU: {value}}}")
