import math, time, click
def curve(lr, e, drop=0.0):
    return (.9 - .1 * abs(math.log10(lr) + 2) - drop) * (1 - math.exp(-(e + 1) / 3)) + .0001 * (e % 3)
@click.group()
@click.option("--seed", type=int, default=0, show_default=True)
@click.pass_context
def cli(ctx, seed): ctx.obj = seed
@cli.command()
@click.option("--learning-rate", "-lr", "learning_rate", type=click.FloatRange(1e-6, 1.0), default=3e-3)
@click.option("--optimizer", type=click.Choice(["sgd", "adam", "rmsprop"]), default="adam")
@click.option("--amp/--no-amp", default=False)
@click.option("--num-epochs", default=6)
@click.pass_obj
def train(seed, learning_rate, optimizer, amp, num_epochs):
    for epoch in range(num_epochs):
        acc = curve(learning_rate, epoch)
        click.secho(f"Epoch {epoch + 1:>2}/{num_epochs}: train_loss={1.1 - acc:.4f}  val_acc={acc:.4f}", fg="green"); truth(v=acc); time.sleep(.02)
cli()
