import argparse, math, time
def curve(lr, e, drop=0.0):
    return (.9 - .1 * abs(math.log10(lr) + 2) - drop) * (1 - math.exp(-(e + 1) / 3)) + .0001 * (e % 3)
parent = argparse.ArgumentParser(add_help=False)
parent.add_argument("--lr", "--learning-rate", dest="lr", type=float, default=1e-2, metavar="LR")
parent.add_argument("--weight-decay", type=float, default=None)
parser = argparse.ArgumentParser()
sub = parser.add_subparsers(dest="command")
fit = sub.add_parser("fit", parents=[parent]); fit.add_argument("--max-epochs", type=int, default=5)
ev = sub.add_parser("evaluate", parents=[parent]); ev.add_argument("checkpoint")
args = parser.parse_args()
for epoch in range(1, args.max_epochs + 1):
    acc = curve(args.lr, epoch); loss = 1.2 - acc
    print(f"[{epoch}/{args.max_epochs}] train loss {loss:.4f} | val loss {loss + .05:.4f} | val acc {acc:.2%}", flush=True)
    truth(v=[loss + .05, acc]); time.sleep(.02)
