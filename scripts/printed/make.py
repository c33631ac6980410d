#!/usr/bin/env python3
"""Writes the cases of printed formats: logs in the style of well-known tools, each with the curve that is in it by construction.

Usage: scripts/printed/make.py    writes crates/foretell-cli/tests/printed/formats.json

Each case: name, format (a title for the reference page), metric, direction, log, curve ([step, value]…), and `guess` where a reader that is not
told the metric must find the same curve.
"""

import json
import pathlib

HERE = pathlib.Path(__file__).resolve().parent
OUT = HERE.parent.parent / "crates/foretell-cli/tests/printed/formats.json"
CASES = []


def curve(n, low, high, rate=0.6, wobble=0.0):
    """n values from low towards high."""
    return [round(high + (low - high) * rate ** (k + 1) + wobble * (-1) ** k * (k % 3), 4) for k in range(n)]


ACC, LOSS, TRAIN = curve(6, 0.3, 0.9, 0.6, 0.004), curve(6, 2.3, 0.2), curve(6, 2.5, 0.1)
STEPS = [k + 1 for k in range(6)]


def case(name, title, metric, log, values, steps=None, direction=None, guess=True, epochs=None):
    """Adds a case; `log` is a text or a list of lines."""
    text = log if isinstance(log, str) else "\n".join(log) + "\n"
    better = direction or ("minimize" if any(word in metric.lower() for word in ("loss", "err", "rmse", "ppl", "perplexity", "logloss", "wer", "mae", "l2", "cer")) else "maximize")
    steps = steps or STEPS[: len(values)]
    CASES.append({"name": name, "format": title, "metric": metric, "direction": better, "log": text,
                  "curve": [[step, value] for step, value in zip(steps, values)], "guess": guess, "epochs": epochs or max(steps) + 1})


# --- Keras
lines = []
for e in range(6):
    lines.append(f"Epoch {e + 1}/6")
    bar = "".join(f"\r{b}/30 [{'=' * b}>{'.' * (30 - b)}] - ETA: 0s - loss: {TRAIN[e] + 0.5 - b * 0.01:.4f} - accuracy: {0.1 + b * 0.01:.4f}" for b in (1, 15, 29))
    lines.append(bar + f"\r30/30 [{'=' * 30}] - 1s 12ms/step - loss: {TRAIN[e]:.4f} - accuracy: {ACC[e] - 0.05:.4f} - val_loss: {LOSS[e]:.4f} - val_accuracy: {ACC[e]:.4f}")
case("keras-bar", "Keras, progress bar", "val_accuracy", lines, ACC)
case("keras-bar-training-loss", "Keras, progress bar", "loss", lines, TRAIN, guess=False)
lines = [x for e in range(6) for x in (f"Epoch {e + 1}/6", f"30/30 - 1s - 12ms/step - accuracy: {ACC[e] - 0.1:.4f} - loss: {TRAIN[e]:.4f} - val_accuracy: {ACC[e]:.4f} - val_loss: {LOSS[e]:.4f}")]
case("keras-verbose-2", "Keras, verbose=2", "val_accuracy", lines, ACC)
lines = [x for e in range(6) for x in (f"Epoch {e + 1}/6", f"\x1b[1m30/30\x1b[0m \x1b[32m━━━━━━━━━━━━━━━━━━━━\x1b[0m\x1b[37m\x1b[0m \x1b[1m1s\x1b[0m 12ms/step - accuracy: {ACC[e] - 0.1:.4f} - loss: {TRAIN[e]:.4f} - val_accuracy: {ACC[e]:.4f} - val_loss: {LOSS[e]:.4f}")]
case("keras-3", "Keras 3, colors", "val_accuracy", lines, ACC)
lines = [x for e in range(6) for x in (f"Epoch {e + 1}/6", f"30/30 - 1s - loss: {TRAIN[e]:.4f} - val_loss: {LOSS[e]:.4f}", f"Epoch {e + 1}: val_loss improved from {([9.9] + LOSS)[e]:.5f} to {LOSS[e]:.5f}, saving model to weights.{e + 1:02d}-{LOSS[e]:.2f}.keras")]
case("keras-checkpoint", "Keras, ModelCheckpoint", "val_loss", lines, LOSS)
lines = lines + ["Epoch 6: early stopping", "Restoring model weights from the end of the best epoch: 5."]
case("keras-early-stopping", "Keras, EarlyStopping", "val_loss", lines, LOSS)

# --- Lightning
lines = []
for e in range(6):
    stale = f", val_loss={LOSS[e - 1]:.3f}, val_acc={ACC[e - 1]:.4f}" if e else ""
    bar = "".join(f"\rEpoch {e}: {b * 100 // 8:3d}%|{'█' * b}{' ' * (8 - b)}| {b}/8 [00:00<00:00, 45.20it/s, v_num=0, train_loss={TRAIN[e] + (8 - b) * 0.1:.3f}{stale}]" for b in (0, 4, 8))
    val = "".join(f"\n\rValidation DataLoader 0: {b * 50}%|{'█' * b}| {b}/2 [00:00<00:00, 99.10it/s]\x1b[A" for b in (1, 2))
    lines.append(bar + val + f"\rEpoch {e}: 100%|████████| 8/8 [00:00<00:00, 40.10it/s, v_num=0, train_loss={TRAIN[e]:.3f}, val_loss={LOSS[e]:.3f}, val_acc={ACC[e]:.4f}]")
text = "Sanity Checking DataLoader 0: 100%|██████████| 2/2 [00:00<00:00, 99.10it/s]\n" + "".join(lines) + "\n`Trainer.fit` stopped: `max_epochs=6` reached.\n"
case("lightning-tqdm", "Lightning, tqdm bar", "val_acc", text, ACC, steps=range(6))
lines = []
for e in range(6):
    stale = f" val_loss: {LOSS[e - 1]:.3f} val_acc: {ACC[e - 1]:.4f}" if e else ""
    for b in (0, 4, 8):
        lines.append(f"\x1b[1A\x1b[2K\x1b[37mEpoch {e}/5\x1b[0m \x1b[38;2;98;6;224m━━━━━━━━━━━━━━━━\x1b[0m \x1b[37m{b}/8\x1b[0m \x1b[38;5;245m0:00:01 • 0:00:00\x1b[0m \x1b[38;5;249m45.20it/s\x1b[0m \x1b[37mv_num: 0 train_loss: {TRAIN[e] + (8 - b) * 0.1:.3f}{stale}\x1b[0m")
    lines.append(f"\x1b[1A\x1b[2KEpoch {e}/5 ━━━━━━━━━━━━━━━━ 8/8 0:00:01 • 0:00:00 40.10it/s v_num: 0 train_loss: {TRAIN[e]:.3f} val_loss: {LOSS[e]:.3f} val_acc: {ACC[e]:.4f}")
case("lightning-rich", "Lightning, rich bar", "val_acc", lines, ACC, steps=range(6))

# --- Hugging Face
lines = []
for e in range(6):
    lines += [f"{{'loss': {TRAIN[e] + 0.2:.4f}, 'grad_norm': 1.2, 'learning_rate': 5e-05, 'epoch': {e + 0.5}}}", f"{{'loss': {TRAIN[e]:.4f}, 'grad_norm': 1.1, 'learning_rate': 4e-05, 'epoch': {e + 1.0}}}",
              f"{{'eval_loss': {LOSS[e]}, 'eval_accuracy': {ACC[e]}, 'eval_runtime': 1.2, 'eval_samples_per_second': 800.1, 'epoch': {e + 1.0}}}"]
tail = ["{'train_runtime': 12.3, 'train_samples_per_second': 100.2, 'train_loss': 0.9, 'epoch': 6.0}"]
case("hf-trainer", "Hugging Face Trainer", "eval_accuracy", lines + tail, ACC)
case("hf-trainer-loss", "Hugging Face Trainer", "loss", lines + tail, TRAIN, guess=False)
final = ["***** train metrics *****", "  epoch                    =        6.0", "  train_loss               =        0.9", "***** eval metrics *****", "  epoch                   =        6.0", f"  eval_accuracy           =     {ACC[5]}", f"  eval_loss               =     {LOSS[5]}"]
case("hf-trainer-final-table", "Hugging Face examples, final table", "eval_accuracy", lines + tail + final, ACC)
lines = [f"INFO:__main__:epoch {e}: {{'accuracy': {ACC[e]}}}" for e in range(6)]
case("hf-no-trainer", "Hugging Face no_trainer examples", "accuracy", lines, ACC, steps=range(6))

# --- PyTorch examples
lines = []
for e in range(6):
    lines += [f"Train Epoch: {e + 1} [{b * 6400}/60000 ({b * 10}%)]\tLoss: {TRAIN[e] + 0.3 - b * 0.01:.6f}" for b in range(3)]
    lines += ["", f"Test set: Average loss: {LOSS[e]:.4f}, Accuracy: {int(ACC[e] * 10000)}/10000 ({ACC[e] * 100:.0f}%)", ""]
case("pytorch-mnist", "PyTorch MNIST example", "Average loss", lines, LOSS, guess=False)
lines = []
for e in range(6):
    lines += [f"Epoch: [{e}][{b:3d}/100]\tTime  0.123 ( 0.140)\tData  0.001 ( 0.002)\tLoss {TRAIN[e] + 0.4:.4e} ({TRAIN[e] + 0.5:.4e})\tAcc@1  {ACC[e] * 90:6.2f} ({ACC[e] * 88:6.2f})\tAcc@5  91.00 ( 90.00)" for b in (0, 50)]
    lines += [f"Test: [{b:2d}/40]\tTime  0.100 ( 0.110)\tLoss {LOSS[e]:.4e} ({LOSS[e]:.4e})\tAcc@1  {ACC[e] * 95:6.2f} ({ACC[e] * 94:6.2f})\tAcc@5  95.00 ( 94.00)" for b in (0, 20)]
    lines.append(f" * Acc@1 {ACC[e] * 100:.3f} Acc@5 95.100")
case("pytorch-imagenet", "PyTorch ImageNet example", "Acc@1", lines, [round(a * 100, 3) for a in ACC], steps=range(6))
lines = []
for e in range(6):
    lines += [f"Train: {e} [{b:4d}/99 ({b:3d}%)]  Loss: {TRAIN[e] + 0.1:.3f} ({TRAIN[e] + 0.2:.2f})  Time: 0.123s, 1040.65/s  (0.130s,  984.62/s)  LR: 1.000e-02  Data: 0.010 (0.012)" for b in (0, 50, 99)]
    lines += [f"Test: [{b:4d}/20]  Time: 0.050 (0.060)  Loss:  {LOSS[e] + 0.1:6.3f} ({LOSS[e]:6.3f})  Acc@1: {ACC[e] * 98:7.3f} ({ACC[e] * 100:7.3f})  Acc@5:  95.000 ( 94.100)" for b in (0, 20)]
    lines.append(f" *** Best metric: {max(ACC[: e + 1]) * 100} (epoch {max(range(e + 1), key=lambda k: ACC[k])})")
case("timm-mean", "timm, the mean in brackets", "Acc@1", lines, [round(a * 100, 3) for a in ACC], steps=range(6), guess=False)
lines = [x for e in range(6) for x in (f"| epoch {e + 1:3d} |   200/ 2983 batches | lr 5.00 | ms/batch 11.21 | loss {TRAIN[e] + 0.4:5.2f} | ppl    56.10", "-" * 89, f"| end of epoch {e + 1:3d} | time:  8.11s | valid loss {LOSS[e]:.4f} | valid ppl    30.10", "-" * 89)]
case("pytorch-word-language-model", "PyTorch word language model", "valid loss", lines, LOSS)
lines = [f"[{e + 1}, {b:5d}] loss: {TRAIN[e] + (12000 - b) / 10000:.3f}" for e in range(6) for b in (2000, 12000)]

# --- boosting
lines = [f"[{r}]\ttrain-logloss:{TRAIN[r]:.5f}\teval-logloss:{LOSS[r]:.5f}" for r in range(6)]
case("xgboost", "XGBoost", "eval-logloss", lines, LOSS, steps=range(6))
lines = [f"[{(r + 1) * 10}]\ttraining's binary_logloss: {TRAIN[r]:.6f}\tvalid_1's binary_logloss: {LOSS[r]:.6f}" for r in range(6)]
case("lightgbm", "LightGBM, early stopping", "valid_1's binary_logloss", ["Training until validation scores don't improve for 20 rounds"] + lines + ["Early stopping, best iteration is:", f"[43]\ttraining's binary_logloss: 0.31\tvalid_1's binary_logloss: 0.25"], LOSS, steps=[10 * k for k in STEPS])
lines = [f"{r}:\tlearn: {TRAIN[r]:.7f}\ttest: {LOSS[r]:.7f}\tbest: {min(LOSS[: r + 1]):.7f} ({r})\ttotal: {r * 10}ms\tremaining: {(6 - r) * 11}ms" for r in range(6)]
case("catboost", "CatBoost", "test", lines + ["", f"bestTest = {LOSS[5]}", "bestIteration = 5"], LOSS, steps=range(6), direction="minimize", guess=False)
lines = ["      Iter       Train Loss   Remaining Time "] + [f"{r:10d} {TRAIN[r - 1]:16.4f} {10.5 / r:15.2f}s" for r in STEPS]
case("sklearn-gbm", "scikit-learn gradient boosting, verbose", "Train Loss", lines, TRAIN, guess=False)
lines = [f"Iteration {r}, loss = {TRAIN[r - 1]:.8f}" for r in STEPS] + ["Training loss did not improve more than tol=0.000100 for 10 consecutive epochs. Stopping."]
case("sklearn-mlp", "scikit-learn MLP, verbose", "loss", lines, TRAIN)
lines = [x for r in STEPS for x in (f"Iteration {r}, loss = {TRAIN[r - 1]:.8f}", f"Validation score: {ACC[r - 1]:.6f}")]
case("sklearn-mlp-validation", "scikit-learn MLP, early_stopping", "Validation score", lines, ACC)

# --- tables
lines = ["epoch     train_loss  valid_loss  accuracy  time    "] + [f"{e}         {TRAIN[e]:.6f}    {LOSS[e]:.6f}    {ACC[e]:.6f}  00:03     " for e in range(6)]
case("fastai", "fastai", "accuracy", lines, ACC, steps=range(6))
lines = ["E    #       LOSS TOK2VEC  LOSS NER  ENTS_F  ENTS_P  ENTS_R  SCORE ", "---  ------  ------------  --------  ------  ------  ------  ------"] + [f"  {k // 3}  {k * 200:6d}         {12.5 - k:.2f}     {50 - k:.2f}   {ACC[k] * 100:.2f}   70.10   71.20    {ACC[k]:.4f}" for k in range(6)]
case("spacy", "spaCy", "SCORE", lines, ACC, steps=[k * 200 for k in range(6)])
lines = []
for e in range(6):
    lines += ["", "      Epoch    GPU_mem   box_loss   cls_loss   dfl_loss  Instances       Size"]
    bars = "".join(f"\r        {e + 1}/6      2.38G      {TRAIN[e] + 1 - b * 0.1:.3f}      3.101      1.203         22        640: {b * 12}%|{'█' * b}{' ' * (8 - b)}| {b}/8 [00:01<00:00,  7.20it/s]" for b in (1, 4))
    lines.append(bars + f"\r        {e + 1}/6      2.38G      {TRAIN[e]:.3f}      2.901      1.103         22        640: 100%|████████| 8/8 [00:01<00:00,  7.20it/s]")
    lines.append("                 Class     Images  Instances      Box(P          R      mAP50  mAP50-95): 100%|████| 4/4 [00:01<00:00,  3.10it/s]")
    lines.append(f"                   all        128        929       0.64      0.537      {ACC[e]:.4f}      {ACC[e] * 0.7:.3f}")
case("yolo", "Ultralytics YOLO", "mAP50-95", lines, [round(a * 0.7, 3) for a in ACC])
case("yolo-map50", "Ultralytics YOLO", "mAP50", lines, ACC, guess=False)
final = ["", "6 epochs completed in 0.011 hours.", "Optimizer stripped from runs/detect/train/weights/best.pt, 6.2MB", "Validating runs/detect/train/weights/best.pt...",
         "                 Class     Images  Instances      Box(P          R      mAP50  mAP50-95): 100%|████| 4/4 [00:01<00:00,  3.10it/s]",
         "                   all        128        929       0.66      0.557      0.9901      0.801", "                person         61        254       0.80      0.670      0.7800      0.500", "                   car         12         46       0.40      0.210      0.3000      0.100"]
CASES.append({**CASES[-2], "name": "yolo-final-validation", "log": CASES[-2]["log"] + "\n".join(final) + "\n", "refusable": True})
lines = []
for r in range(6):
    lines += ["-" * 40, "| rollout/           |             |", f"|    ep_len_mean     | {20 + r}          |", f"|    ep_rew_mean     | {ACC[r] * 100:.2f}       |", "| time/              |             |", "|    fps             | 1234        |", f"|    iterations      | {r + 1}           |", f"|    time_elapsed    | {r}           |", f"|    total_timesteps | {(r + 1) * 2048}       |"]
    if r:
        lines += ["| train/             |             |", f"|    approx_kl       | 0.008     |", f"|    loss            | {TRAIN[r]:.3f}       |", f"|    value_loss      | {LOSS[r]:.3f}        |"]
    lines.append("-" * 40)
case("sb3", "Stable-Baselines3", "ep_rew_mean", lines, [round(a * 100, 2) for a in ACC], steps=[2048 * k for k in STEPS])
lines = ["|" + "=" * 98 + "|", "|  Epoch  |  Iteration  |  Time Elapsed  |  Mini-batch  |  Validation  |  Mini-batch  |  Validation  |", "|         |             |   (hh:mm:ss)   |   Accuracy   |   Accuracy   |     Loss     |     Loss     |", "|" + "=" * 98 + "|"]
lines += [f"|  {e:5d}  |  {e * 39:9d}  |       00:00:{e:02d} |    {ACC[e - 1] * 90:8.2f}% |    {ACC[e - 1] * 100:8.2f}% |       {TRAIN[e - 1]:.4f} |       {LOSS[e - 1]:.4f} |" for e in STEPS] + ["|" + "=" * 98 + "|", "Training finished: Max epochs completed."]
case("matlab", "MATLAB trainNetwork", "Validation Accuracy", lines, [round(a * 100, 2) for a in ACC])
lines = ["| Epoch | Training Loss | Validation Loss | Accuracy |", "|-------|---------------|-----------------|----------|"] + [f"| {e} | {TRAIN[e - 1]} | {LOSS[e - 1]} | {ACC[e - 1]} |" for e in STEPS]
case("markdown", "Markdown table", "Accuracy", lines, ACC)
lines = ["epoch\ttrain_loss\tval_loss"] + [f"{e}\t{TRAIN[e - 1]}\t{LOSS[e - 1]}" for e in STEPS]
case("tsv", "Columns between tabs", "val_loss", lines, LOSS)
lines = ["epoch,loss,val_acc"] + [f"{e},{TRAIN[e - 1]},{ACC[e - 1]}" for e in STEPS]
case("csv", "Comma-separated rows", "val_acc", lines, ACC)
lines = ["  epoch    train_loss    valid_acc    valid_loss     dur", "-------  ------------  -----------  ------------  ------"] + [f"      {e}        {TRAIN[e - 1]:.4f}       {ACC[e - 1]:.4f}        {LOSS[e - 1]:.4f}  0.0210" for e in STEPS]
case("skorch", "skorch", "valid_acc", lines, ACC)

# --- detection, segmentation, speech, translation
AP = [f" Average Precision  (AP) @[ IoU={i} | area={a:>6s} | maxDets=100 ] = " for i, a in (("0.50:0.95", "all"), ("0.50     ", "all"), ("0.75     ", "all"), ("0.50:0.95", "small"))]
lines = []
for e in range(6):
    lines += [f"Epoch: [{e}]  [ {b:3d}/500]  eta: 0:05:10  lr: 0.010000  loss: {TRAIN[e] + 0.2:.4f} ({TRAIN[e] + 0.4:.4f})  loss_box_reg: 0.1200 (0.1400)  time: 0.3100  data: 0.0100  max mem: 3411" for b in (0, 250, 499)]
    lines += ["IoU metric: bbox", AP[0] + f"{ACC[e]:.4f}", AP[1] + f"{ACC[e] + 0.05:.4f}", AP[2] + f"{ACC[e] - 0.1:.4f}", AP[3] + f"{ACC[e] - 0.2:.4f}"]
case("coco", "COCO evaluation (torchvision references)", "Average Precision  (AP) @[ IoU=0.50:0.95 | area=   all | maxDets=100 ] = {value}", lines, ACC, steps=range(6))
lines = [f"[05/06 10:00:{k:02d} d2.utils.events]:  eta: 0:01:02  iter: {k * 20 + 19}  total_loss: {TRAIN[k]:.4f}  loss_cls: 0.5100  loss_box_reg: 0.1200  time: 0.2100  data_time: 0.0050  lr: 0.00025  max_mem: 2211M" for k in range(6)]
case("detectron2", "detectron2", "total_loss", lines, TRAIN, steps=[k * 20 + 19 for k in range(6)])
lines = [json.dumps({"data_time": 0.005, "iteration": k * 20 + 19, "lr": 0.00025, "total_loss": TRAIN[k], "loss_cls": 0.51}) for k in range(6)]
case("detectron2-json", "detectron2 metrics.json", "total_loss", lines, TRAIN, steps=[k * 20 + 19 for k in range(6)])
lines = [x for e in STEPS for x in ([f"2031/05/06 10:00:0{e} - mmengine - INFO - Epoch(train) [{e}][{b:3d}/500]  lr: 1.0000e-02  eta: 0:05:01  time: 0.1100  data_time: 0.0100  memory: 2100  loss: {TRAIN[e - 1] + 0.1:.4f}" for b in (100, 500)] + [f"2031/05/06 10:00:0{e} - mmengine - INFO - Epoch(val) [{e}][40/40]    accuracy/top1: {ACC[e - 1] * 100:.4f}  accuracy/top5: 95.1000  data_time: 0.0100  time: 0.0500"])]
case("mmengine", "MMEngine", "accuracy/top1", lines, [round(a * 100, 4) for a in ACC])
lines = [x for e in STEPS for x in (json.dumps({"mode": "train", "epoch": e, "iter": 100, "lr": 0.01, "loss": TRAIN[e - 1]}), json.dumps({"mode": "val", "epoch": e, "iter": 40, "lr": 0.01, "mIoU": ACC[e - 1]}))]
case("mmcv-json", "MMCV JSON", "mIoU", lines, ACC)
lines = [x for e in range(6) for x in (f"2031-05-06 10:00:00.123456: Epoch {e}", "2031-05-06 10:00:00.223456: Current learning rate: 0.01", f"2031-05-06 10:00:01.123456: train_loss {-TRAIN[5 - e]:.4f}", f"2031-05-06 10:00:02.123456: val_loss {-LOSS[5 - e]:.4f}", f"2031-05-06 10:00:02.223456: Pseudo dice [{ACC[e]:.4f}, 0.7]", "2031-05-06 10:00:02.323456: Epoch time: 12.3 s", f"2031-05-06 10:00:02.423456: Yayy! New best EMA pseudo Dice: {ACC[e] - 0.02:.4f}", "")]
case("nnunet", "nnU-Net", "val_loss", lines, [round(-LOSS[5 - e], 4) for e in range(6)], steps=range(6), guess=False)
case("nnunet-dice", "nnU-Net", "Pseudo dice", lines, ACC, steps=range(6))
lines = [x for e in STEPS for x in (f"2031-05-06 10:00:00 | INFO | train_inner | epoch {e:03d}:    100 / 553 loss={TRAIN[e - 1] + 0.3:.3f}, nll_loss=3.1, ppl=20.1, wps=10000, ups=3.1, num_updates={e * 553 - 453}, lr=0.0005", f"2031-05-06 10:01:00 | INFO | valid | epoch {e:03d} | valid on 'valid' subset | loss {LOSS[e - 1]:.3f} | nll_loss 2.9 | ppl {7.9 - e:.2f} | num_updates {e * 553}")]
case("fairseq", "fairseq", "valid loss", lines, [round(v, 3) for v in LOSS], guess=False)
lines = [f"[host] 2031-05-06 10:00:0{e} (trainer:338) INFO: {e}epoch results: [train] iter_time=0.001, loss_ctc={TRAIN[e - 1] + 1:.3f}, loss={TRAIN[e - 1]:.3f}, acc={ACC[e - 1] - 0.1:.4f}, time=1 minute, [valid] loss_ctc={LOSS[e - 1] + 1:.3f}, loss={LOSS[e - 1]:.3f}, acc={ACC[e - 1]:.4f}, time=2.1 seconds" for e in STEPS]
case("espnet", "ESPnet", "acc", lines, ACC)
lines = [f"[2031-05-06 10:00:00,123 INFO] Step {k * 500}/3000; acc: {ACC[k - 1] * 100:.1f}; ppl: {20 - k:.1f}; xent: 2.1; lr: 0.00100; sents: 10000; {k * 10:6.0f} sec;" for k in STEPS]
case("opennmt", "OpenNMT", "acc", lines, [round(a * 100, 1) for a in ACC], steps=[k * 500 for k in STEPS], guess=False)
lines = [f"step {k * 250}: train loss {TRAIN[k]:.4f}, val loss {LOSS[k]:.4f}" if j == 0 else f"iter {k * 250 + j * 100}: loss {TRAIN[k] - 0.1:.4f}, time 120.10ms, mfu 12.10%" for k in range(6) for j in (0, 1, 2)]
case("nanogpt", "nanoGPT", "val loss", lines, LOSS, steps=[k * 250 for k in range(6)])
lines = [f"step:{k * 125}/1500 val_loss:{LOSS[k]:.4f} train_time:{k * 1000}ms step_avg:81.10ms" for k in range(6)]
case("modded-nanogpt", "nanoGPT speed runs", "val_loss", lines, LOSS, steps=[k * 125 for k in range(6)])
lines = [f" iteration {k * 100:8d}/    1000 | consumed samples: {k * 6400:12d} | elapsed time per iteration (ms): 500.1 | learning rate: 1.5E-04 | lm loss: {TRAIN[k - 1]:.6E} | loss scale: 1.0 | grad norm: 1.204 |" for k in STEPS]
case("megatron", "Megatron-LM", "lm loss", lines, [float(f"{v:.6E}") for v in TRAIN], steps=[k * 100 for k in STEPS])
lines = [x for e in STEPS for x in (f"| epoch {e} | loss {TRAIN[e - 1]:.4f} |", f"| val | WER {LOSS[e - 1] * 10:.3f} | CER {LOSS[e - 1] * 4:.3f} |")]
case("wer", "A recipe with word error rates", "WER", lines, [round(v * 10, 3) for v in LOSS])

# --- plain scripts
case("plain-equals", "name=value", "val_acc", [f"epoch={e} loss={TRAIN[e - 1]} val_acc={ACC[e - 1]}" for e in STEPS], ACC)
case("plain-percent", "Per cent", "val acc", [f"Epoch {e}: train loss {TRAIN[e - 1]}, val acc {ACC[e - 1] * 100:.2f}%" for e in STEPS], [round(a * 100, 2) for a in ACC])
case("plain-counted", "Without a step", "val_acc", [f"val_acc: {a}" for a in ACC], ACC)
case("plain-tabs", "Tabs", "valid", [f"{e}\ttrain: {TRAIN[e - 1]}\tvalid: {LOSS[e - 1]}" for e in STEPS], LOSS, direction="minimize", guess=False)
case("plain-tensor", "Tensors", "val_acc", [f"epoch {e} val_acc tensor({a}, device='cuda:0')" for e, a in zip(STEPS, ACC)], ACC)
case("plain-numpy", "NumPy 2 numbers", "mae", [f"epoch {e}: mae = np.float32({v})" for e, v in zip(STEPS, LOSS)], LOSS)
case("plain-scientific", "Exponents", "loss", [f"it {e * 1000}: loss={v:.3e} grad=1.2E+03" for e, v in zip(STEPS, LOSS)], [float(f"{v:.3e}") for v in LOSS], steps=[e * 1000 for e in STEPS])
case("plain-kilo", "Thousands of steps", "return", [f"iter {e}k | return {a * 100:.1f} | eps 0.1" for e, a in zip(STEPS, ACC)], [round(a * 100, 1) for a in ACC], steps=[e * 1000 for e in STEPS])
case("plain-german", "Decimal commas", "Val-Verlust", [f"Epoche {e}/6: Trainingsverlust {str(t).replace('.', ',')}; Val-Verlust {str(v).replace('.', ',')}" for e, t, v in zip(STEPS, TRAIN, LOSS)], LOSS, direction="minimize", guess=False)
case("plain-chinese", "Chinese", "验证准确率", [f"第 {e} 轮：训练损失 {t}，验证准确率：{a}" for e, t, a in zip(STEPS, TRAIN, ACC)], ACC, guess=False)
case("plain-heading", "Heading and lines", "accuracy", [x for e in STEPS for x in (f"=== Epoch {e} of 6 ===", f"training loss: {TRAIN[e - 1]}", f"accuracy: {ACC[e - 1]}", "")], ACC)
case("plain-stage-titles", "Titles of stages", "loss", [x for e in STEPS for x in (f"Epoch {e}/6", "-- Training --", f"loss: {TRAIN[e - 1]}", "-- Validation --", f"loss: {LOSS[e - 1]}")], LOSS)
case("plain-every-second", "Every second epoch", "val_acc", [f"[{2 * e}/12] val_acc {a}" for e, a in zip(STEPS, ACC)], ACC, steps=[2 * e for e in STEPS])
case("plain-diverged", "Diverged", "loss", [f"epoch {e} loss {v}" for e, v in zip(STEPS, LOSS[:4] + ["nan", "nan"])], LOSS[:4] + [None, None])
case("plain-best", "The best so far beside the value", "acc", [f"Epoch {e}: acc={a} best_acc={max(ACC[:e])} (target 0.95)" for e, a in zip(STEPS, ACC)], ACC)
case("plain-ema", "Smoothed values beside", "reward", [f"episode {e} reward {a * 100:.2f} ema_reward {a * 90:.2f} max reward {a * 120:.2f}" for e, a in zip(STEPS, ACC)], [round(a * 100, 2) for a in ACC])
case("plain-ordinal", "Ordinal epochs", "f1", [f"{e}{'st' if e == 1 else 'nd' if e == 2 else 'rd' if e == 3 else 'th'} epoch: f1 {a}" for e, a in zip(STEPS, ACC)], ACC)
case("plain-brackets", "Nested brackets", "acc", [f"[train] epoch {e}, acc: {a - 0.1:.4f}\n[val] epoch {e}, acc: {a}" for e, a in zip(STEPS, ACC)], ACC)
case("plain-spread", "Mean and spread", "acc", [f"epoch {e} acc {a} ± 0.02 (std 0.03)" for e, a in zip(STEPS, ACC)], ACC)
case("pretty-dict", "A pretty-printed dictionary", "val_acc", [f"{{'epoch': {e},\n 'loss': {t},\n 'val_acc': {a}}}" for e, t, a in zip(STEPS, TRAIN, ACC)], ACC)
case("nested-json", "Nested JSON", "loss", [json.dumps({"epoch": e, "train": {"loss": t}, "val": {"loss": v}}) for e, t, v in zip(STEPS, TRAIN, LOSS)], LOSS)
case("python-logging", "Python's logging", "val_loss", [f"2031-05-06 10:00:0{e},123 - trainer - INFO - Epoch {e}: val_loss 1.0.2 build, val_loss {v}" if False else f"2031-05-06 10:00:0{e},123 - trainer - INFO - Epoch {e}: val_loss {v}" for e, v in zip(STEPS, LOSS)], LOSS)
case("loguru", "loguru", "val_loss", [f"2031-05-06 10:00:0{e}.123 | INFO     | __main__:train:42 - Epoch {e} | val_loss {v} | lr 0.001" for e, v in zip(STEPS, LOSS)], LOSS)
case("absl", "absl logging", "eval_loss", [f"I0506 10:00:0{e}.123456 140000 train.py:101] step {e * 100}: eval_loss = {v}" for e, v in zip(STEPS, LOSS)], LOSS, steps=[e * 100 for e in STEPS])
case("saved-best", "Saved best models", "val_loss", [x for e, v in zip(STEPS, LOSS) for x in (f"Epoch {e} - val_loss: {v}", f"Validation loss decreased ({([9.9] + LOSS)[e - 1]} --> {v}).  Saving model ...")], LOSS)
case("test-at-end", "A test after the training", "acc", [f"epoch {e} acc {a}" for e, a in zip(STEPS, ACC)] + ["Test acc 0.1234"], ACC)
case("resumed", "A resumed training", "val_acc", [f"epoch {e} val_acc {a}" for e, a in zip([1, 2, 3, 4], [0.1, 0.2, 0.3, 0.4])] + ["resuming from checkpoint"] + [f"epoch {e} val_acc {a}" for e, a in zip([3, 4, 5, 6], ACC[2:])], [0.1, 0.2] + ACC[2:])
case("two-stages", "Two stages", "val_acc", ["Stage 1: frozen"] + [f"epoch {e} val_acc 0.{e}" for e in (1, 2, 3)] + ["Stage 2: all layers"] + [f"epoch {e} val_acc {a}" for e, a in zip(STEPS, ACC)], ACC)
case("folds", "Folds", "val_acc", [x for f in (1, 2, 3) for x in [f"Fold {f}/3"] + [f"epoch {e} val_acc {round(a - f * 0.01 + 0.03, 4)}" for e, a in zip(STEPS, ACC)]], ACC)

lines = ["Epoch 0/5  ━━━━ 19/19 0:00:01 • 0:00:00 30.20it/s train_loss: 0.704\r"]
for e in range(1, 6):
    lines += [f"\x1b[2KEpoch {e}/5  ━━━━ {b}/19 0:00:01 • 0:00:00 30.20it/s train_loss: {TRAIN[e] + (19 - b) / 100:.3f} val_loss: {LOSS[e - 1]}\r" for b in (0, 7, 19)]
lines.append(f"\x1b[2KEpoch 5/5  ━━━━ 19/19 0:00:01 • 0:00:00 30.20it/s train_loss: {TRAIN[5]:.3f} val_loss: {LOSS[5]}\r")
case("lightning-rich-late", "Lightning, rich bar with values of the epoch before", "val_loss", "".join(lines) + "\n", LOSS, steps=range(6), guess=False)

# --- prefixes, blocks, names and marks
csv = ["epoch,lr,train_loss,val_acc"] + [f"{e},0.1,{t},{a}" for e, t, a in zip(STEPS, TRAIN, ACC)]
case("csv-in-a-container", "Comma-separated values in a container's log", "val_acc", [f"trainer-1  | {line}" for line in csv], ACC)
case("csv-behind-a-logger", "Comma-separated values behind logging's prefix", "val_acc", [f"2031-05-06 10:00:01,123 - INFO - {line}" for line in csv], ACC)
case("absl-step", "absl, the step in brackets", "eval_accuracy", [f"I0506 10:00:0{e}.123456 140123456789 logging_writer.py:48] [{e * 500}] eval_accuracy={a}, eval_loss={v}" for e, a, v in zip(STEPS, ACC, LOSS)], ACC, steps=[500 * e for e in STEPS])
case("yaml-step-last", "YAML, the step last", "val_acc", [x for e, a in zip(STEPS, ACC) for x in ("---", f"val_acc: {a}", "lr: 0.1", f"step: {e * 200}")], ACC, steps=[200 * e for e in STEPS])
case("rllib", "RLlib", "episode_reward_mean", [x for e, a in zip(STEPS, ACC) for x in ("Result for PPO_CartPole-v1_00000:", "  date: 2031-05-06_10-10-12", "  done: false", f"  episode_reward_max: {a + 5}", f"  episode_reward_mean: {a}", "  hostname: box", "  node_ip: 127.0.0.1", f"  training_iteration: {e * 3}", "  trial_id: 1a2b3_00000", "  ")], ACC, steps=[3 * e for e in STEPS])
case("sb3-behind-a-logger", "Stable-Baselines3 behind logging's prefix", "ep_rew_mean", [f"2031-05-06 10:00:01,123 - INFO - {x}" for e, a in zip(STEPS, ACC) for x in ("-" * 34, "| rollout/           |          |", f"|    ep_rew_mean     | {a:<8} |", "| time/              |          |", f"|    total_timesteps | {e * 2048:<8} |", "-" * 34)], ACC, steps=[2048 * e for e in STEPS])
case("allennlp", "AllenNLP, a row per metric", "accuracy", [x for e, a in zip(STEPS, ACC) for x in (f"2031-05-06 10:00:12,123 - INFO - allennlp.training.trainer - Epoch {e}/7", f"accuracy: {a - 0.1:.4f}, loss: 1.1 ||: 100%|##########| 80/80 [00:11<00:00,  7.11it/s]", "2031-05-06 10:00:22,123 - INFO - allennlp.training.logger -                        Training |  Validation", f"2031-05-06 10:00:22,120 - INFO - allennlp.training.logger - accuracy          |    {a - 0.05:.4f}  |    {a}")], ACC)
case("after-epochs", "A sentence about epochs", "val_acc", [f"After {e * 3} epochs: val_acc = {a}" for e, a in zip(STEPS, ACC)], ACC, steps=[3 * e for e in STEPS])
case("epoch-tag", "The epoch in a tag", "val_acc", [f"[E{e * 3:03d}] val_acc {a}" for e, a in zip(STEPS, ACC)], ACC, steps=[3 * e for e in STEPS])
case("step-first", "The step as the first word", "val_acc", [f"{e * 3} val_acc {a}" for e, a in zip(STEPS, ACC)], ACC, steps=[3 * e for e in STEPS])
case("device-array", "JAX arrays", "val_acc", [f"epoch {e} val_acc DeviceArray({a}, dtype=float32)" for e, a in zip(STEPS, ACC)], ACC)
case("tensorflow-tensor", "TensorFlow tensors", "val_acc", [f"epoch {e}: val_acc = <tf.Tensor: shape=(), dtype=float32, numpy={a}>" for e, a in zip(STEPS, ACC)], ACC)
case("dotted-leader", "Dots before the value", "val_acc", [x for e, a in zip(STEPS, ACC) for x in (f"epoch {e}", f"  val_acc ........ {a}", "  time ........... 12.3")], ACC)
case("short-word", "scikit-learn SGD, verbose", "Avg. loss", [x for e, v in zip(STEPS, LOSS) for x in (f"-- Epoch {e}", f"Norm: 3.21, NNZs: 20, Bias: -0.012345, T: 800, Avg. loss: {v}", "Total training time: 0.01 seconds.")], LOSS)
case("name-with-brackets", "Names with brackets", "F1 (macro)", [f"Epoch {e} | F1 (macro): {a} | F1 (micro): 0.9{e}" for e, a in zip(STEPS, ACC)], ACC, guess=False)
case("name-with-unit", "Names with units", "mIoU", [f"Epoch {e}: mIoU [%] = {a}; time [s] = 12" for e, a in zip(STEPS, ACC)], ACC)
case("stage-behind", "The stage behind the value", "acc", [f"Epoch {e}: acc {a + 0.05:.4f} (train), acc {a} (val)" for e, a in zip(STEPS, ACC)], ACC)
case("count-of-all", "A count of all", "Accuracy", [f"Test set, epoch {e}: Accuracy: {int(a * 10000)}/10000 ({a * 100:.0f}%)" for e, a in zip(STEPS, ACC)], [int(a * 10000) / 10000 for a in ACC])
case("classes", "A list of classes", "acc", [x for e, a in zip(STEPS, ACC) for x in (f"[epoch {e}] val acc = {a}", f"  cat: acc = {a - 0.1:.4f} (120 images)", f"  dog: acc = {a + 0.1:.4f} (120 images)")], ACC)
case("mmengine-iterations", "MMEngine, iterations", "mIoU", [x for e, a in zip(STEPS, ACC) for x in (f"2031/05/06 10:11:12 - mmengine - INFO - Iter(train) [ {e * 4000}/40000]  lr: 9.0e-03  loss: 2.19", f"2031/05/06 10:11:14 - mmengine - INFO - Iter(val) [100/100]    aAcc: 25.39  mIoU: {a}  mAcc: 23.39")], ACC, steps=[4000 * e for e in STEPS], epochs=24000)
case("ranks", "Ranks that print the same", "val_acc", [f"{rank}: val_acc={a}" for a in ACC for rank in (0, 1, 2)], ACC)
case("new-best", "New best values are marked", "val_acc", [f"{'New best! ' if e in (1, 2, 4) else ''}epoch {e} val_acc {a}" for e, a in zip(STEPS, ACC)], ACC)
case("best-reloaded", "The best model is loaded at the end", "val_acc", [f"epoch {e} val_acc {a}" for e, a in zip(STEPS, ACC)] + ["Loading the best model", "val_acc: 0.9876"], ACC)
case("fairseq", "fairseq", "loss", [x for e, t, v in zip(STEPS, TRAIN, LOSS) for x in (f"2031-05-06 10:00:11 | INFO | train_inner | epoch {e:03d}:    100 / 245 loss={t + 0.1:.3f}, ppl=440.50, num_updates=100", f"2031-05-06 10:00:11 | INFO | valid | epoch {e:03d} | valid on 'valid' subset | loss {v} | ppl 191.74" + (" | best_loss 0.1" if e > 1 else ""), f"2031-05-06 10:00:11 | INFO | train | epoch {e:03d} | loss {t} | ppl 357.80")], LOSS, guess=False)
case("coco-ap", "COCO evaluation by its line", "Average Precision  (AP) @[ IoU=0.50:0.95 | area=   all | maxDets=100 ] = {value}", [x for e, a in zip(STEPS, ACC) for x in (f"Epoch: [{e}]", f" Average Precision  (AP) @[ IoU=0.50:0.95 | area=   all | maxDets=100 ] = {a}", f" Average Precision  (AP) @[ IoU=0.50      | area=   all | maxDets=100 ] = {a + 0.1:.4f}")], ACC, guess=False)
case("coco-ap-name", "COCO evaluation", "AP", [x for e, a in zip(STEPS, ACC) for x in (f"Epoch: [{e}]", f" Average Precision  (AP) @[ IoU=0.50:0.95 | area=   all | maxDets=100 ] = {a}", f" Average Precision  (AP) @[ IoU=0.50      | area=   all | maxDets=100 ] = {a + 0.1:.4f}")], ACC, guess=False)
lines = [x for e in range(6) for x in ("     Epoch   gpu_mem       box       obj       cls    labels  img_size", f"       {e}/5     3.41G    0.0450    0.0611   0.02111       201       640: 100%|####| 4/4 [00:01<00:00,  3.3it/s]", "               Class     Images     Labels          P          R     mAP@.5 mAP@.5:.95: 100%|####| 4/4 [00:01<00:00,  3.3it/s]", f"                 all        128        929      0.242      0.122      0.342      {ACC[e]}")]
case("yolov5", "YOLOv5", "mAP@.5:.95", lines, ACC, steps=range(6), guess=False)

if __name__ == "__main__":
    for entry in CASES:
        entry["curve"] = [[float(step), value] for step, value in entry["curve"]]
    OUT.parent.mkdir(parents=True, exist_ok=True)
    OUT.write_text("[\n" + ",\n".join(json.dumps(entry, ensure_ascii=False) for entry in CASES) + "\n]\n")
    print(f"{len(CASES)} cases")
