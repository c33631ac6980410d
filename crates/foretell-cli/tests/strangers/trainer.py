"""What the trainer of transformers prints: headings and a bar on standard error, losses of parts of an epoch between."""
import sys
from counted import epochs

lr = float(sys.argv[sys.argv.index("--learning_rate") + 1])
sys.stderr.write("***** Running training *****\n  Num examples = 640\n  Num Epochs = 8\n  Total optimization steps = 80\n")
for epoch, value in epochs(lr, 8):
    for step in range(10 * epoch - 9, 10 * epoch + 1):
        sys.stderr.write(f"\r {step * 100 // 80:3d}%|{'█' * (step // 8):10}| {step}/80 [00:01<00:07, 9.9it/s]")
        if step % 5 == 0:
            print({"loss": 1.0 / step, "grad_norm": 1.5, "learning_rate": lr, "epoch": step / 10})
    sys.stderr.write("\r100%|██████████| 2/2 [00:00<00:00, 90.1it/s]\x1b[A\n")
    print({"eval_loss": f"{1 - float(value):.4f}", "eval_runtime": 0.01, "epoch": float(epoch)})
print({"train_runtime": 8.0, "train_loss": 0.3, "epoch": 8.0})
