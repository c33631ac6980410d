"""Options by typer, whose help is drawn in boxes."""
from enum import Enum

import typer
from training import Training


class Opt(str, Enum):
    sgd = "sgd"
    adam = "adam"


def main(data: str, lr: float = typer.Option(0.1, help="learning rate"), batch_size: int = 32, opt: Opt = Opt.sgd, dropout: float = typer.Option(0.1, min=0, max=0.4), amp: bool = False, epochs: int = 5, seed: int = 0):
    training = Training(epochs, lr, batch_size=batch_size, opt=opt.value, dropout=dropout, seed=seed)
    for epoch in range(epochs):
        print(f"epoch {epoch + 1}: val_acc {training.epoch():.4f}", flush=True)


typer.run(main)
