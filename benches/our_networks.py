"""Shared by the benches on networks of our own: running Foretell, and the cuda-convnet networks that learn in seconds."""

import json
import subprocess
import sys

# small networks on a part of MNIST (300 images, unless a bench has more), and the part of their space in which they learn
TRAIN = ["--space", "cuda-convnet", "--width", "0.125", "--validation-size", "400", "--batch-size", "10"]
RANGES = ["learning_rate=log:2e-3:5e-2", "conv1_l2=log:5e-5:5e-2", "conv2_l2=log:5e-5:5e-2", "conv3_l2=log:5e-5:5e-2"]
RANGES += ["fc_l2=log:5e-5:5e-1", "lrn_scale=log:5e-6:5e-2", "lrn_power=float:0.01:3"]


def answer(command):
    """The standard output of the command; its failure ends the bench."""
    process = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if process.returncode:
        sys.exit(f"{' '.join(command)} failed")
    return process.stdout


def searched(parameters):
    """The flags that search these parameters."""
    return [word for parameter in parameters for word in ("--param", parameter)]


def keep(path, figures):
    """Adds figures to a file that `foretell reproduce --only claims` is made of: each a name, a mean, its standard error, runs, repeats and seeds."""
    if path:
        fields = ["figure", "mean", "stderr", "runs", "repeats", "seeds"]
        with open(path, "a") as file:
            file.writelines(json.dumps([figure[0], [dict(zip(fields, figure))]]) + "\n" for figure in figures)
