"""In the style of the examples of transformers: the options of HfArgumentParser for three data classes, and the reports of a Trainer."""
import argparse, json, os
from training import Training

TYPES = {"int": int, "float": float, "str": str, None: str, "bool": lambda text: text.lower() in ("true", "1", "yes")}
parser = argparse.ArgumentParser(formatter_class=argparse.ArgumentDefaultsHelpFormatter)
for name, action, kind, default, count, choices in json.load(open(os.path.join(os.path.dirname(__file__), "hugging_face_arguments.json"))):
    names = [name] + ([name.replace("_", "-")] if "_" in name[2:] else [])
    words = name[2:].replace("_", " ")
    if action == "store":
        more = {"const": True} if count == "?" else {}
        parser.add_argument(*names, dest=name[2:], type=TYPES[kind], default=default, nargs=count, choices=choices, help=f"The {words}.", **more)
    else:
        parser.add_argument(*names, dest=name[5:], action=action, default=True, help=f"Turns {words[3:]} off.")
args = parser.parse_args()
epochs = int(args.num_train_epochs)
assert args.label_smoothing_factor >= 0 and 0 <= args.adam_beta2 < 1 and args.optim.startswith(("adam", "sgd", "ada", "rms"))
training = Training(epochs, args.learning_rate, 2e-5, weight_decay=args.weight_decay, per_device_train_batch_size=args.per_device_train_batch_size, seed=args.seed)
print(f"***** Running training *****\n  Num examples = 3,668\n  Num Epochs = {epochs}\n  Total optimization steps = {100 * epochs}")
for epoch in range(1, epochs + 1):
    accuracy = training.epoch()
    print({"loss": f"{1.3 - accuracy:.4f}", "grad_norm": "2.1", "learning_rate": f"{args.learning_rate * (1 - epoch / epochs):.4g}", "epoch": f"{epoch:.1f}"})
    print({"eval_loss": f"{1.1 - accuracy:.4f}", "eval_accuracy": f"{accuracy:.4f}", "eval_runtime": "0.5", "eval_samples_per_second": "812.0", "epoch": f"{epoch:.1f}"}, flush=True)
print({"train_runtime": "1.2", "train_samples_per_second": "900.0", "train_loss": "0.4", "epoch": f"{epochs:.1f}"})
print(f"***** eval metrics *****\n  epoch                   =     {epochs:.1f}\n  eval_accuracy           =     {accuracy:.4f}\n  eval_loss               =     {1.1 - accuracy:.4f}\n  eval_runtime            = 0:00:00.50")
