import argparse, math, time
from rich.console import Console
from rich.progress import Progress
from rich.table import Table
def curve(lr, e, drop=0.0):
    return (.9 - .1 * abs(math.log10(lr) + 2) - drop) * (1 - math.exp(-(e + 1) / 3)) + .0001 * (e % 3)
p = argparse.ArgumentParser(); p.add_argument("--lr", type=float, default=1e-2); p.add_argument("--epochs", type=int, default=5); a = p.parse_args()
c = Console(force_terminal=True, width=100)
with Progress(console=c) as progress:
    task = progress.add_task("[green]Training", total=a.epochs)
    for epoch in range(a.epochs):
        inner = progress.add_task(f"epoch {epoch + 1}", total=10)
        for b in range(10): progress.update(inner, advance=1); time.sleep(.003)
        progress.remove_task(inner); v = curve(a.lr, epoch)
        progress.console.print(f"Epoch [bold]{epoch + 1}[/bold]/{a.epochs}  train loss [red]{1.2 - v:.4f}[/red]  val acc [cyan]{v:.4f}[/cyan]"); progress.advance(task); truth(v=v)
t = Table("metric", "value"); t.add_row("best val acc", f"{v:.4f}"); c.print(t)
