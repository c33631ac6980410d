import argparse, math, time
def curve(lr, e, drop=0.0):
    return (.9 - .1 * abs(math.log10(lr) + 2) - drop) * (1 - math.exp(-(e + 1) / 3)) + .0001 * (e % 3)
p = argparse.ArgumentParser(); p.add_argument("--lr", type=float, default=1e-2); p.add_argument("--pretrain-epochs", type=int, default=3); p.add_argument("--epochs", type=int, default=5); a = p.parse_args()
print("Stage 1: pretraining")
for e in range(a.pretrain_epochs): print(f"pretrain epoch {e + 1} recon_loss {2 - curve(a.lr, e):.4f}", flush=True); time.sleep(.02)
print("Stage 2: fine-tuning")
for e in range(a.epochs): v = curve(a.lr, e); print(f"epoch {e + 1} train_loss {1.2 - v:.4f} val_acc {v:.4f}", flush=True); truth(v=v); time.sleep(.02)
