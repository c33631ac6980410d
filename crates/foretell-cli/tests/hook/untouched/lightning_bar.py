import argparse, torch, lightning as L
from sklearn.datasets import load_digits
p = argparse.ArgumentParser(); p.add_argument("--lr", type=float, default=1e-3); p.add_argument("--hidden", type=int, default=32); p.add_argument("--max_epochs", type=int, default=4); a = p.parse_args()
X, y = load_digits(return_X_y=True); X = torch.tensor(X / 16., dtype=torch.float32); y = torch.tensor(y); ds = lambda i, j: torch.utils.data.TensorDataset(X[i:j], y[i:j])
class M(L.LightningModule):
    def __init__(s): super().__init__(); s.n = torch.nn.Sequential(torch.nn.Linear(64, a.hidden), torch.nn.ReLU(), torch.nn.Linear(a.hidden, 10))
    def training_step(s, b, i): l = torch.nn.functional.cross_entropy(s.n(b[0]), b[1]); s.log("train_loss", l, prog_bar=True); return l
    def validation_step(s, b, i): o = s.n(b[0]); s.log("val_loss", torch.nn.functional.cross_entropy(o, b[1]), prog_bar=True); s.log("val_acc", (o.argmax(1) == b[1]).float().mean(), prog_bar=True)
    def on_validation_epoch_end(s):
        if not s.trainer.sanity_checking: truth(v=float(s.trainer.callback_metrics["val_acc"]))
    def configure_optimizers(s): return torch.optim.Adam(s.parameters(), lr=a.lr)
L.seed_everything(1, verbose=False)
L.Trainer(max_epochs=a.max_epochs, accelerator="cpu", enable_checkpointing=False, logger=False).fit(M(), torch.utils.data.DataLoader(ds(0, 1000), 64, shuffle=True), torch.utils.data.DataLoader(ds(1000, 1797), 200))
