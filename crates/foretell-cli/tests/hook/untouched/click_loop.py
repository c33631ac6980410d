import math, click, time
@click.command()
@click.option("--lr", default=.01)
@click.option("--epochs", default=6)
def main(lr, epochs):
    for e in range(epochs):
        v = (.9 - .1 * abs(math.log10(lr) + 2)) * (1 - math.exp(-(e + 1) / 3)) + .0001 * (e % 3); click.echo(f"epoch {e + 1} val_acc {v:.4f}"); truth(v=v); time.sleep(.02)
main()
