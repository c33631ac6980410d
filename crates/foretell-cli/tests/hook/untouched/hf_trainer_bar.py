import os; os.environ["HF_HUB_OFFLINE"] = "1"
import argparse, numpy as np, torch
from sklearn.datasets import load_digits
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments, TrainerCallback, PrinterCallback
p = argparse.ArgumentParser(); p.add_argument("--lr", type=float, default=2e-3); p.add_argument("--batch_size", type=int, default=32); p.add_argument("--epochs", type=int, default=3); p.add_argument("--output_dir", default="hf-out")
a = p.parse_args(); torch.manual_seed(0)
X, y = load_digits(return_X_y=True); X = torch.tensor(X, dtype=torch.long); y = torch.tensor(y)
class D(torch.utils.data.Dataset):
    def __init__(s, lo, hi): s.lo, s.hi = lo, hi
    def __len__(s): return s.hi - s.lo
    def __getitem__(s, i): return {"input_ids": X[s.lo + i], "labels": y[s.lo + i]}
class Truth(TrainerCallback):
    def on_evaluate(s, args, state, control, metrics=None, **k): truth(v=metrics["eval_accuracy"])
m = BertForSequenceClassification(BertConfig(vocab_size=20, hidden_size=32, num_hidden_layers=1, num_attention_heads=4, intermediate_size=64, max_position_embeddings=64, num_labels=10))
args = TrainingArguments(a.output_dir, learning_rate=a.lr, per_device_train_batch_size=a.batch_size, num_train_epochs=a.epochs, eval_strategy="epoch", save_strategy="no", logging_steps=10, report_to=[], use_cpu=True)
t = Trainer(m, args, train_dataset=D(0, 640), eval_dataset=D(1000, 1200), compute_metrics=lambda q: {"accuracy": float((q.predictions.argmax(1) == q.label_ids).mean())}, callbacks=[Truth()])
t.train()
