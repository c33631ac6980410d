"""Options in a configuration file."""
import json, math, sys, time

config = json.load(open(sys.argv[sys.argv.index("--config") + 1]))
for epoch in range(1, config["epochs"] + 1):
    time.sleep(0.01)
    print(f"Epoch {epoch}/{config['epochs']} | loss={1 / epoch + abs(math.log10(config['lr']) + 2):.5f}")
