import math, time, dataclasses
from typing import Literal
import tyro
def curve(lr, e, drop=0.0):
    return (.9 - .1 * abs(math.log10(lr) + 2) - drop) * (1 - math.exp(-(e + 1) / 3)) + .0001 * (e % 3)
@dataclasses.dataclass
class Optim:
    lr: float = 3e-4
    kind: Literal["adam", "sgd"] = "adam"
    betas: tuple[float, float] = (0.9, 0.999)
@dataclasses.dataclass
class Args:
    optim: Optim = dataclasses.field(default_factory=Optim)
    width: int = 64
    total_epochs: int = 5
    track: bool = False
a = tyro.cli(Args)
for epoch in range(a.total_epochs):
    v = curve(a.optim.lr, epoch)
    print({"epoch": epoch, "train/loss": round(1.3 - v, 4), "eval/acc": round(v, 4)}, flush=True); truth(v=round(v, 4)); time.sleep(.02)
