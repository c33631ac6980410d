"""In the style of LightningCLI: nested options with their types in the help, and a bar for each epoch."""
import argparse, sys
from training import Training

OPTIONS = [
    ("trainer.max_epochs", "Optional[int]", "null"), ("trainer.accelerator", "str", "auto"), ("trainer.devices", "Union[List[int], str, int]", "auto"),
    ("trainer.barebones", "bool", "False"), ("trainer.enable_progress_bar", "Optional[bool]", "null"), ("trainer.log_every_n_steps", "Optional[int]", "null"),
    ("trainer.gradient_clip_val", "Union[int, float, null]", "null"), ("trainer.accumulate_grad_batches", "int", "1"),
    ("trainer.default_root_dir", "Union[str, Path, null]", "null"), ("trainer.check_val_every_n_epoch", "Optional[int]", "1"),
    ("model.lr", "float", "0.02"), ("model.hidden", "List[int]", "[64, 64]"), ("model.dropout", "float", "0.1"), ("model.optimizer", "Literal['sgd', 'adam']", "adam"),
    ("model.momentum", "Optional[float]", "null"), ("model.out_dim", "int", "10"), ("model.weight_decay", "float", "0.0"),
    ("data.batch_size", "int", "32"), ("data.num_workers", "int", "0"),
]
if sys.argv[1:2] != ["fit"]:
    sys.exit("error: expected a subcommand: fit")
parser = argparse.ArgumentParser(prog="main.py [options] fit")
parser.add_argument("-c", "--config", metavar="CONFIG", help="Path to a configuration file.")
parser.add_argument("--seed_everything", type=int, default=1, metavar="SEED", help="(type: Union[bool, int], default: True)")
for name, kind, default in OPTIONS:
    last = name.split(".")[1].upper()
    values = {"bool": "{true,false}", "Optional[bool]": "{true,false,null}", "List[int]": "[ITEM,...]"}.get(kind, "{sgd,adam}" if "Literal" in kind else last)
    names = [f"--{name}"] + ([f"--{name}+"] if "ITEM" in values else [])
    parser.add_argument(*names, dest=name, default=default, metavar=values, help=f"(type: {kind}, default: {default})")
args = vars(parser.parse_args(sys.argv[2:]))
hidden = [int(size) for size in args["model.hidden"].strip("[]").split(",")]
float(args["model.dropout"]), int(args["data.batch_size"])
epochs = 1000 if args["trainer.max_epochs"] == "null" else int(args["trainer.max_epochs"])
training = Training(epochs, float(args["model.lr"]), 0.003, hidden=hidden, dropout=float(args["model.dropout"]), seed=args["seed_everything"])
print("GPU available: False, used: False\n\n  | Name  | Type   | Params\n---------------------------------\n0 | model | Linear | 7.9 K")
for epoch in range(epochs):
    accuracy = training.epoch()
    for batch in (1, 3, 5):
        bar = f"Epoch {epoch}: {20 * batch:3}%|{'█' * batch:5}| {batch}/5 [00:00<00:00, 99.0it/s, v_num=0"
        print("\r" + bar + (f", val_loss={1.1 - accuracy:.3f}, val_acc={accuracy:.3f}]" if epoch or batch == 5 else "]"), end="", flush=True)
print(f"\n`Trainer.fit` stopped: `max_epochs={epochs}` reached.")
