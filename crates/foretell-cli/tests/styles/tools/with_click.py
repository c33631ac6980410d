"""Options by click."""
import click
from training import Training


@click.command()
@click.option("--lr", default=0.1, show_default=True, help="learning rate")
@click.option("--batch-size", "-b", type=int, default=32, show_default=True)
@click.option("--opt", type=click.Choice(["sgd", "adam"]), default="sgd", show_default=True, help="the optimizer, in a text that is long enough for a second line")
@click.option("--dropout", type=click.FloatRange(0, 0.4), default=0.1, show_default=True)
@click.option("--amp/--no-amp", default=False, show_default=True)
@click.option("--epochs", default=5, show_default=True)
@click.option("--seed", default=0)
def main(lr, batch_size, opt, dropout, amp, epochs, seed):
    assert 0 <= dropout <= 0.4
    training = Training(epochs, lr, batch_size=batch_size, opt=opt, dropout=dropout, seed=seed)
    for epoch in range(epochs):
        print(f"epoch {epoch + 1}: val_acc {training.epoch():.4f}", flush=True)


main()
