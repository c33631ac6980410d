import argparse, torch, lightning as L
from torch import nn
from sklearn.datasets import load_digits
from lightning.pytorch.callbacks import ModelCheckpoint, Callback
p = argparse.ArgumentParser(); p.add_argument("--learning_rate", type=float, default=1e-2); p.add_argument("--batch_size", type=int, default=64); p.add_argument("--n", type=int, default=4); a = p.parse_args()
L.seed_everything(1); X, y = load_digits(return_X_y=True); X = torch.tensor(X, dtype=torch.float32) / 16; y = torch.tensor(y)
class M(L.LightningModule):
    def __init__(s): super().__init__(); s.net = nn.Linear(64, 10)
    def training_step(s, b, i):
        loss = nn.functional.cross_entropy(s.net(b[0]), b[1]); s.log("train_loss", loss, prog_bar=True); return loss
    def validation_step(s, b, i):
        o = s.net(b[0]); s.log_dict({"val/loss": nn.functional.cross_entropy(o, b[1]), "val/acc": (o.argmax(1) == b[1]).float().mean()})
    def configure_optimizers(s): return torch.optim.SGD(s.parameters(), lr=a.learning_rate)
class T(Callback):
    def on_validation_end(s, tr, pl):
        if not tr.sanity_checking: truth(v=[float(tr.callback_metrics["val/loss"])])
dl = lambda lo, hi, sh=False: torch.utils.data.DataLoader(torch.utils.data.TensorDataset(X[lo:hi], y[lo:hi]), batch_size=a.batch_size, shuffle=sh)
L.Trainer(max_epochs=a.n, accelerator="cpu", logger=False, enable_model_summary=False, callbacks=[ModelCheckpoint(monitor="val/loss", dirpath="ck"), T()]).fit(M(), dl(0, 1200, True), dl(1200, 1797))
