import argparse, os, torch, torch.multiprocessing as mp
from torch import nn
from torch.utils.tensorboard import SummaryWriter
from sklearn.datasets import load_digits
def work(rank, a):
    os.environ.update(RANK=str(rank), WORLD_SIZE="2"); torch.manual_seed(rank)
    X, y = load_digits(return_X_y=True); X = torch.tensor(X, dtype=torch.float32) / 16; y = torch.tensor(y)
    m = nn.Linear(64, 10); o = torch.optim.SGD(m.parameters(), lr=a.lr); w = SummaryWriter(f"{a.out}/rank{rank}")
    for e in range(a.epochs):
        for i in range(rank, 18, 2):
            o.zero_grad(); nn.functional.cross_entropy(m(X[64 * i:64 * i + 64]), y[64 * i:64 * i + 64]).backward(); o.step()
        with torch.no_grad(): v = float((m(X[1200:]).argmax(1) == y[1200:]).float().mean())
        w.add_scalar("val/acc", v, e)
        if rank == 0: truth(v=v)
if __name__ == "__main__":
    p = argparse.ArgumentParser(); p.add_argument("--lr", type=float, default=.1); p.add_argument("--epochs", type=int, default=4); p.add_argument("--out", default="runs"); a = p.parse_args()
    mp.spawn(work, (a,), 2)
