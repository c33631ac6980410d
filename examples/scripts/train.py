"""Trains a small network on two interleaved spirals, in plain Python, and prints its accuracy after each epoch.

    foretell init -- python3 train.py
    foretell search study.toml

With `--checkpoints` it goes on where it was interrupted, or paused by a scheduler with rungs:

    foretell search --param 'lr=log:0.01:3' --param 'hidden=logint:2:32' --metric val_acc --epochs 27 --scheduler asha \
        -- python3 train.py --checkpoints --lr {lr} --hidden {hidden}

With `--latency` it measures how long an answer takes, and the search looks for networks that are accurate and quick:

    foretell search --param 'lr=log:0.01:3' --param 'hidden=logint:2:64' --objective val_acc --objective latency:min --epochs 27 \
        -- python3 train.py --latency --lr {lr} --hidden {hidden}
"""
import argparse
import json
import math
import os
import random
import time

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=0.3)
parser.add_argument("--hidden", type=int, default=8)
parser.add_argument("--epochs", type=int, default=27)
parser.add_argument("--checkpoints", action="store_true")
parser.add_argument("--latency", action="store_true", help="print the microseconds of an answer before the first epoch")
parser.add_argument("--latency-last", action="store_true", help="print them after the last epoch instead")
args = parser.parse_args()


def spirals(count, noise):
    """(x, y, class) of points on two arms."""
    for i in range(count):
        angle, label = 0.5 + 8 * noise.random(), i % 2
        radius = angle / 8.5 * (1 if label else -1)
        yield radius * math.cos(angle) + noise.gauss(0, 0.05), radius * math.sin(angle) + noise.gauss(0, 0.05), label


def forward(network, x, y):
    hidden = [math.tanh(a * x + b * y + c) for a, b, c, _ in network["units"]]
    score = network["bias"] + sum(unit[3] * value for unit, value in zip(network["units"], hidden))
    return hidden, 1 / (1 + math.exp(-max(-30, min(30, score))))


def train_one_epoch(network, points):
    for x, y, label in points:
        hidden, probability = forward(network, x, y)
        error = args.lr * (label - probability)
        network["bias"] += error
        for unit, value in zip(network["units"], hidden):
            back = error * unit[3] * (1 - value * value)
            unit[3] += error * value
            unit[0] += back * x
            unit[1] += back * y
            unit[2] += back


def accuracy(network, points):
    return sum((forward(network, x, y)[1] > 0.5) == bool(label) for x, y, label in points) / len(points)


def latency(network, points):
    """Microseconds of an answer, in the quickest of 20 passes over the points."""
    passes = []
    for _ in range(20):
        began = time.perf_counter()
        accuracy(network, points)
        passes.append(time.perf_counter() - began)
    return 1e6 * min(passes) / len(points)


data = random.Random(1)
train, validation = list(spirals(2000, data)), list(spirals(6000, data))
start = random.Random(int(os.environ.get("FORETELL_SEED", "0")))
network = {"epoch": 0, "bias": 0.0, "units": [[start.gauss(0, 1.5) for _ in range(4)] for _ in range(args.hidden)]}
folder = os.environ.get("FORETELL_CHECKPOINT_DIR")
path = os.path.join(folder, "network.json") if args.checkpoints and folder else None
if path and os.environ.get("FORETELL_RESUME_FROM") and os.path.exists(path):
    network = json.load(open(path))
last = int(os.environ.get("FORETELL_UNTIL", args.epochs)) if path else args.epochs
if args.latency:
    print(f"latency {latency(network, train):.2f}")
for epoch in range(network["epoch"] + 1, last + 1):
    train_one_epoch(network, train)
    network["epoch"] = epoch
    if path:
        with open(path + ".new", "w") as file:
            json.dump(network, file)
        os.replace(path + ".new", path)
    print(f"epoch {epoch}: train_acc {accuracy(network, train):.4f} val_acc {accuracy(network, validation):.4f}")
if args.latency_last:
    print(f"latency {latency(network, train):.2f}")
