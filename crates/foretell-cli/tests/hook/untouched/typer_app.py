import math, time, enum
from typing import Annotated, Optional
import typer
def curve(lr, e, drop=0.0):
    return (.9 - .1 * abs(math.log10(lr) + 2) - drop) * (1 - math.exp(-(e + 1) / 3)) + .0001 * (e % 3)
app = typer.Typer()
class Opt(str, enum.Enum):
    sgd = "sgd"; adam = "adam"
@app.command()
def train(lr: Annotated[float, typer.Option(help="step size", min=1e-6)] = 1e-2, opt: Opt = Opt.adam, hidden: int = 64, warmup: Optional[int] = None, epochs: Annotated[int, typer.Option("--epochs", "-e")] = 5):
    with typer.progressbar(range(epochs)) as progress:
        for epoch in progress:
            v = curve(lr, epoch); time.sleep(.02)
            typer.echo(f"\nepoch={epoch} valid/accuracy={v:.5f}"); truth(v=v)
@app.command()
def export(path: str): ...
app()
