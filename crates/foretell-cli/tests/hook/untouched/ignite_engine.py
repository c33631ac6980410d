import argparse, torch
from torch import nn
from ignite.engine import Events, create_supervised_trainer, create_supervised_evaluator
from ignite.metrics import Accuracy, Loss
from sklearn.datasets import load_digits
p = argparse.ArgumentParser(); p.add_argument("--lr", type=float, default=1e-2); p.add_argument("--momentum", type=float, default=.5); p.add_argument("--epochs", type=int, default=4); a = p.parse_args(); torch.manual_seed(0)
X, y = load_digits(return_X_y=True); X = torch.tensor(X / 16., dtype=torch.float32); y = torch.tensor(y); ds = lambda i, j: torch.utils.data.TensorDataset(X[i:j], y[i:j])
train_loader = torch.utils.data.DataLoader(ds(0, 1200), 64, shuffle=True); val_loader = torch.utils.data.DataLoader(ds(1200, 1797), 200)
m = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10)); o = torch.optim.SGD(m.parameters(), lr=a.lr, momentum=a.momentum); c = nn.CrossEntropyLoss()
trainer = create_supervised_trainer(m, o, c); train_evaluator = create_supervised_evaluator(m, {"accuracy": Accuracy(), "nll": Loss(c)}); val_evaluator = create_supervised_evaluator(m, {"accuracy": Accuracy(), "nll": Loss(c)})
@trainer.on(Events.EPOCH_COMPLETED)
def log(t):
    train_evaluator.run(train_loader); val_evaluator.run(val_loader); truth(v=val_evaluator.state.metrics["accuracy"])
trainer.run(train_loader, max_epochs=a.epochs)
