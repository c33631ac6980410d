import os; os.environ["HF_HUB_OFFLINE"] = "1"
import dataclasses, numpy as np, torch
from sklearn.datasets import load_digits
from transformers import HfArgumentParser, BertConfig, BertForSequenceClassification, Trainer, TrainingArguments, TrainerCallback
@dataclasses.dataclass
class ModelArguments:
    hidden: int = dataclasses.field(default=32)
    dropout: float = dataclasses.field(default=0.1)
m_args, t_args = HfArgumentParser((ModelArguments, TrainingArguments)).parse_args_into_dataclasses()
torch.manual_seed(t_args.seed)
X, y = load_digits(return_X_y=True); X = torch.tensor(X, dtype=torch.long); y = torch.tensor(y)
class D(torch.utils.data.Dataset):
    def __init__(s, lo, hi): s.lo, s.hi = lo, hi
    def __len__(s): return s.hi - s.lo
    def __getitem__(s, i): return {"input_ids": X[s.lo + i], "labels": y[s.lo + i]}
class T(TrainerCallback):
    def on_evaluate(s, args, state, control, metrics=None, **k):
        if state.is_world_process_zero and s.on: truth(v=metrics["eval_accuracy"])
    def on_train_begin(s, *a, **k): s.on = True
    def on_train_end(s, *a, **k): s.on = False
model = BertForSequenceClassification(BertConfig(vocab_size=20, hidden_size=m_args.hidden, num_hidden_layers=1, num_attention_heads=4, intermediate_size=64, max_position_embeddings=64, num_labels=10, hidden_dropout_prob=m_args.dropout))
t = Trainer(model, t_args, train_dataset=D(0, 640), eval_dataset=D(1000, 1200), compute_metrics=lambda q: {"accuracy": float((q.predictions.argmax(1) == q.label_ids).mean())}, callbacks=[T()])
t.train(); print(t.evaluate())
