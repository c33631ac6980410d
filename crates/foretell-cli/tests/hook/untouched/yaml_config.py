import sys, math, time, yaml
def curve(lr, e, drop=0.0):
    return (.9 - .1 * abs(math.log10(lr) + 2) - drop) * (1 - math.exp(-(e + 1) / 3)) + .0001 * (e % 3)
c = yaml.safe_load(open(sys.argv[sys.argv.index("--config") + 1]))
for e in range(c["train"]["epochs"]):
    v = curve(c["optim"]["lr"], e) - c["model"]["dropout"] / 10; time.sleep(.02)
    print(f"Epoch {e + 1}/{c['train']['epochs']} | train_loss {1.1 - v:.4f} | val_loss {1.2 - v:.4f} | val_acc {v:.4f}", flush=True); truth(v=[v, 1.2 - v])
