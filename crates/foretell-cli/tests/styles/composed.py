"""In the style of a script with accelerate and Hydra: words such as optim.lr=0.1, and the logging of a job."""
import sys
from training import Training

CONFIG = {"seed": 1, "epochs": 8, "output_dir": "results", "data.num_workers": 4, "data.batch_size": 32, "model.hidden_size": 128, "model.num_layers": 2, "model.dropout": 0.1, "optim.name": "adamw", "optim.lr": 0.001, "optim.weight_decay": 0.0, "use_ema": False}


def written():
    lines, before = [], None
    for key, value in CONFIG.items():
        level, _, name = key.rpartition(".")
        if level and level != before:
            lines.append(f"{level}:")
        lines.append(("  " if level else "") + f"{name}: {str(value).lower() if isinstance(value, bool) else value}")
        before = level
    return "\n".join(lines)


words = sys.argv[1:]
if "--help" in words:
    sys.exit(print(f"composed is powered by Hydra.\n\n== Configuration groups ==\nCompose your configuration from those groups (group=option)\n\noptim: adamw, sgd\n\n\n== Config ==\nOverride anything in the config (foo.bar=value)\n\n{written()}\n\n\nPowered by Hydra (https://hydra.cc)\nUse --hydra-help to view Hydra specific help\n"))
for word in words:
    key, value = word.split("=", 1)
    if key not in CONFIG:
        sys.exit(f"Could not override '{key}'.\nKey '{key}' is not in struct")
    CONFIG[key] = type(CONFIG[key])(value)
training = Training(CONFIG["epochs"], CONFIG["optim.lr"], 0.004, weight_decay=CONFIG["optim.weight_decay"], num_layers=CONFIG["model.num_layers"], output_dir=CONFIG["output_dir"], seed=CONFIG["seed"])
for epoch in range(CONFIG["epochs"]):
    accuracy = training.epoch()
    print(f"[2026-11-25 10:00:{epoch:02},123][__main__][INFO] - epoch {epoch}: {{'train_loss': {1.2 - accuracy:.4f}, 'accuracy': {accuracy:.4f}, 'f1': {accuracy - 0.02:.4f}}}", flush=True)
