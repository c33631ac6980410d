import argparse, torch
from torch import nn
from accelerate import Accelerator
from sklearn.datasets import load_digits
p = argparse.ArgumentParser(); p.add_argument("--lr", type=float, default=.05); p.add_argument("--num_epochs", type=int, default=4); p.add_argument("--mixed_precision", default=None, choices=["no", "fp16", "bf16"]); a = p.parse_args()
acc = Accelerator(cpu=True); torch.manual_seed(0); X, y = load_digits(return_X_y=True); X = torch.tensor(X, dtype=torch.float32) / 16; y = torch.tensor(y)
dl = lambda lo, hi: torch.utils.data.DataLoader(torch.utils.data.TensorDataset(X[lo:hi], y[lo:hi]), batch_size=64)
m = nn.Linear(64, 10); o = torch.optim.SGD(m.parameters(), lr=a.lr); m, o, tr, ev = acc.prepare(m, o, dl(0, 1200), dl(1200, 1797))
for epoch in range(a.num_epochs):
    for step, (x, t) in enumerate(tr):
        loss = nn.functional.cross_entropy(m(x), t); acc.backward(loss); o.step(); o.zero_grad()
    n = k = 0
    for x, t in ev:
        pr, ref = acc.gather_for_metrics((m(x).argmax(-1), t)); n += len(ref); k += int((pr == ref).sum())
    acc.print(f"epoch {epoch}:", {"accuracy": k / n, "f1": 0.9 * k / n}); truth(v=[k / n])
