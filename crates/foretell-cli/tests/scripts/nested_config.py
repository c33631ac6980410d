"""Options in a nested configuration file, read without a library of its form."""
import math, sys, time

path = sys.argv[sys.argv.index("--config") + 1]
separator = "=" if path.endswith(".toml") else ":"
values = {}
for line in open(path):
    line = line.split("#")[0]
    if separator in line:
        name, value = line.split(separator, 1)
        values[name.strip()] = value.strip()
# what is no parameter was kept
assert values["betas"] == "[0.9, 0.99]", values
for epoch in range(1, int(values["epochs"]) + 1):
    time.sleep(0.01)
    print(f"Epoch {epoch} | val_loss={1 / epoch + abs(math.log10(float(values['lr'])) + 2):.5f}")
