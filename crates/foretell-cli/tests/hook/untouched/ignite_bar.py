import argparse, torch
from torch import nn
from sklearn.datasets import load_digits
from ignite.engine import Events, create_supervised_trainer, create_supervised_evaluator
from ignite.metrics import Accuracy, Loss
from ignite.handlers import ProgressBar
p = argparse.ArgumentParser(); p.add_argument("--lr", type=float, default=.1); p.add_argument("--epochs", type=int, default=4); a = p.parse_args()
torch.manual_seed(0); X, y = load_digits(return_X_y=True); X = torch.tensor(X, dtype=torch.float32) / 16; y = torch.tensor(y)
dl = lambda lo, hi: torch.utils.data.DataLoader(torch.utils.data.TensorDataset(X[lo:hi], y[lo:hi]), batch_size=64)
train_loader, val_loader = dl(0, 1200), dl(1200, 1797)
m = nn.Linear(64, 10); o = torch.optim.SGD(m.parameters(), lr=a.lr); c = nn.CrossEntropyLoss()
trainer = create_supervised_trainer(m, o, c); evaluator = create_supervised_evaluator(m, metrics={"accuracy": Accuracy(), "nll": Loss(c)})
pbar = ProgressBar(persist=True); pbar.attach(trainer, output_transform=lambda x: {"loss": x})
@trainer.on(Events.EPOCH_COMPLETED)
def log(engine):
    evaluator.run(train_loader); t = evaluator.state.metrics
    pbar.log_message(f"Training Results - Epoch: {engine.state.epoch} Avg accuracy: {t['accuracy']:.2f} Avg loss: {t['nll']:.2f}")
    evaluator.run(val_loader); v = evaluator.state.metrics
    pbar.log_message(f"Validation Results - Epoch: {engine.state.epoch} Avg accuracy: {v['accuracy']:.2f} Avg loss: {v['nll']:.2f}")
    truth(v=v["accuracy"])
trainer.run(train_loader, max_epochs=a.epochs)
