"""HfArgumentParser with the real TrainingArguments; their values are printed by nobody, so that no device is looked for."""
from transformers import HfArgumentParser, TrainingArguments

from training import Training

arguments = vars(HfArgumentParser(TrainingArguments).parse_args())
epochs = int(arguments["num_train_epochs"])
training = Training(epochs, arguments["learning_rate"], 2e-5, weight_decay=arguments["weight_decay"], per_device_train_batch_size=arguments["per_device_train_batch_size"], seed=arguments["seed"])
for epoch in range(1, epochs + 1):
    accuracy = training.epoch()
    print({"loss": f"{1.3 - accuracy:.4f}", "epoch": f"{epoch:.1f}"})
    print({"eval_loss": f"{1.1 - accuracy:.4f}", "eval_accuracy": f"{accuracy:.4f}", "epoch": f"{epoch:.1f}"}, flush=True)
