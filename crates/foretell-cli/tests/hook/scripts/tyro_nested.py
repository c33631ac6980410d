import dataclasses, math, typing, tyro
@dataclasses.dataclass
class Optim:
    lr: float = .01
    kind: typing.Literal["adam", "sgd"] = "adam"
@dataclasses.dataclass
class Config:
    optim: Optim = dataclasses.field(default_factory=Optim)
    epochs: int = 5
    amp: bool = False
c = tyro.cli(Config)
for e in range(c.epochs): print(f"epoch {e + 1}: val_acc {(.9 - .1 * abs(math.log10(c.optim.lr) + 2)) * (1 - math.exp(-(e + 1) / 3)):.4f}", flush=True)
