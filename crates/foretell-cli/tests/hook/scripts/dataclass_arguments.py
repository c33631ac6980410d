# transformers' parser of dataclasses
import math
from dataclasses import dataclass, field
from transformers import HfArgumentParser
@dataclass
class Settings:
    lr: float = field(default=.01, metadata={"help": "rate"})
    width: int = 64
    epochs: int = 5
(a,) = HfArgumentParser(Settings).parse_args_into_dataclasses()
for e in range(a.epochs): print(f"epoch {e + 1}: val_acc {(.9 - .1 * abs(math.log10(a.lr) + 2)) * (1 - math.exp(-(e + 1) / 3)):.4f}", flush=True)
