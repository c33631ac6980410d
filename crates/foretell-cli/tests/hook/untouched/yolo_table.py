import argparse, math, random, time
p = argparse.ArgumentParser(); p.add_argument("--lr", type=float, default=.01); p.add_argument("--epochs", type=int, default=6); a = p.parse_args()
for e in range(a.epochs):
    v = (.9 - .1 * abs(math.log10(a.lr) + 2)) * (1 - math.exp(-(e + 1) / 3)) + .0001 * (e % 3)
    time.sleep(.02)
    print(f"      Epoch    GPU_mem   box_loss   cls_loss  Instances       Size"); print(f"{e + 1:8d}/{a.epochs}         0G     {1.2 - v:.4f}     {1.1 - v:.4f}         20        640")
    print("                 Class     Images  Instances      Box(P          R      mAP50  mAP50-95)"); print(f"                   all        128        929      {v:.3f}      {v - .05:.3f}      {v + .05:.3f}      {v - .1:.3f}", flush=True)
    truth(v=[v - .1, v + .05])
