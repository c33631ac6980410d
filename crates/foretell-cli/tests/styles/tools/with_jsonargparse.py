"""Nested options by jsonargparse with a subcommand, as LightningCLI has them."""
from typing import List, Literal, Optional

from jsonargparse import ArgumentParser
from training import Training


class Model:
    def __init__(self, lr: float = 0.02, hidden: List[int] = [64, 64], dropout: float = 0.1, optimizer: Literal["sgd", "adam"] = "adam", out_dim: int = 10, weight_decay: float = 0.0):
        """A model.

        Args:
            lr: the learning rate of the optimizer
            hidden: widths of the layers
        """
        self.lr, self.hidden, self.dropout, self.weight_decay = lr, hidden, dropout, weight_decay


class Trainer:
    def __init__(self, max_epochs: Optional[int] = 5, accelerator: str = "auto", barebones: bool = False, log_every_n_steps: Optional[int] = None, default_root_dir: Optional[str] = None):
        self.max_epochs = max_epochs


parser, fit = ArgumentParser(), ArgumentParser()
fit.add_class_arguments(Trainer, "trainer", instantiate=True)
fit.add_class_arguments(Model, "model", instantiate=True)
fit.add_argument("--seed_everything", type=Optional[int], default=1)
parser.add_subcommands().add_subcommand("fit", fit, help="Runs the full optimization.")
args = parser.instantiate_classes(parser.parse_args()).fit
training = Training(args.trainer.max_epochs, args.model.lr, hidden=args.model.hidden, dropout=args.model.dropout, weight_decay=args.model.weight_decay, seed=args.seed_everything)
for epoch in range(args.trainer.max_epochs):
    print(f"epoch {epoch + 1}: val_acc {training.epoch():.4f}", flush=True)
