import dataclasses, math
from jsonargparse import ArgumentParser
@dataclasses.dataclass
class Model:
    width: int = 64
p = ArgumentParser(); p.add_argument("--lr", type=float, default=.01); p.add_argument("--epochs", type=int, default=5); p.add_argument("--model", type=Model, default=Model()); a = p.parse_args()
for e in range(a.epochs): print(f"epoch {e + 1}: val_acc {(.9 - .1 * abs(math.log10(a.lr) + 2)) * (1 - math.exp(-(e + 1) / 3)):.4f}", flush=True)
