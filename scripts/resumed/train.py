"""A training of 8 epochs that saves a checkpoint before each report, and hands its loss to one source. It also writes the truth: what it reported.

Usage: train.py SOURCE FORM FILE
"""

import json
import os
import random
import sys
import time

source, form, path = sys.argv[1:4]
folder, trial = os.environ["FORETELL_CHECKPOINT_DIR"], os.environ["FORETELL_TRIAL"]
resume, until = os.environ.get("FORETELL_RESUME_FROM"), int(os.environ["FORETELL_UNTIL"])
first = 1
if resume and os.path.exists(resume + "/epoch"):
    first = int(open(resume + "/epoch").read()) + 1
with open(os.environ["TRUTH"] + ".pid", "w") as file:
    file.write(str(os.getpid()))


def loss_of(epoch):
    return round(random.Random("%s %s %s" % (os.environ["CASE"], trial, epoch)).random(), 6)


def from_csv():
    import csv

    table = open(folder + "/table.csv", "a", newline="")
    rows = csv.DictWriter(table, ["epoch", "loss"])
    return lambda epoch, loss: rows.writerow({"epoch": epoch, "loss": loss})


def from_tensorboard():
    from tensorboardX import SummaryWriter

    writer = SummaryWriter(folder + "/board")
    return lambda epoch, loss: writer.add_scalar("loss", loss, epoch * 100)


def from_wandb():
    from wandb.sdk.wandb_run import Run

    run = Run()
    return lambda epoch, loss: run.log({"loss": loss})


def from_mlflow():
    from mlflow.tracking.client import MlflowClient

    client = MlflowClient()
    return lambda epoch, loss: client.log_metric("run", "loss", loss, step=epoch - 1)


def from_accelerate():
    from accelerate.accelerator import Accelerator

    accelerator = Accelerator()
    return lambda epoch, loss: accelerator.log({"loss": loss}, step=epoch * 32)


def from_tqdm():
    from tqdm import tqdm

    bar = tqdm(total=8, initial=first - 1)

    def report(epoch, loss):
        bar.update(1)
        bar.set_postfix(loss=loss)

    return report


def from_stable_baselines3():
    from stable_baselines3.common.logger import Logger

    logger = Logger(None, [])

    def report(epoch, loss):
        logger.record("loss", loss)
        logger.dump(epoch * 2048)

    return report


def from_file():
    """A file that is appended to, written as a whole each time, or rotated after three lines; with numbers or without."""
    words = "loss: {loss}\n" if source == "follow" else "epoch {epoch} loss: {loss}\n"

    def report(epoch, loss):
        line = words.format(epoch=epoch, loss=loss)
        lines = open(path).readlines() if os.path.exists(path) else []
        if form == "rotated" and len(lines) >= 3:
            number = len([name for name in os.listdir(os.path.dirname(path)) if name.startswith(os.path.basename(path) + ".")])
            os.rename(path, "%s.%d" % (path, number + 1))
        if form == "rewritten":
            with open(path + "~", "w") as file:
                file.write("".join(lines) + line)
            os.rename(path + "~", path)
        elif form == "truncated" and epoch == first:
            open(path, "w").write(line)
        else:
            with open(path, "a") as file:
                file.write(line)

    return report


report = from_file() if source.startswith("follow") else globals()["from_" + source]()
for epoch in range(first, until + 1):
    time.sleep(0.06)
    with open(folder + "/new", "w") as file:
        file.write(str(epoch))
    os.replace(folder + "/new", folder + "/epoch")
    report(epoch, loss_of(epoch))
    with open(os.environ["TRUTH"], "a") as file:
        file.write(json.dumps([trial, epoch, loss_of(epoch)]) + "\n")
