#!/usr/bin/env python3
"""Draws the first twenty curves of each recorded table of data/ into one picture.

    python3 benches/draw_spaces.py docs/images/spaces.svg        # needs matplotlib
"""

import gzip
import json
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
matplotlib.rcParams["svg.hashsalt"] = "foretell"
import matplotlib.pyplot as plt
from matplotlib.ticker import FixedLocator, MaxNLocator, NullLocator, ScalarFormatter

CHANCE = 0.1
tables = {
    "metaqnn-mnist": "metaqnn, MNIST",
    "cuda-convnet-cifar10": "cuda-convnet, CIFAR-10",
    "resnet-tiny-cifar10": "resnet-tiny, CIFAR-10",
    "resnet-39-cifar10": "resnet-39, CIFAR-10",
    "lstm-characters": "lstm, characters",
}


def main():
    data = Path(__file__).parents[1] / "data"
    figure, axes = plt.subplots(1, len(tables), figsize=(13, 2.8), layout="constrained")
    for axis, (name, title) in zip(axes, tables.items()):
        with gzip.open(data / f"{name}.jsonl.gz", "rt") as lines:
            runs = [json.loads(line) for line in lines][:20]
        ends = []
        for run in runs:
            values = [float("nan") if value is None else value for value in run["values"]]
            axis.plot(run["steps"], values, linewidth=0.9, color="#2a6f97", alpha=0.75)
            ends.append(values[-1])
        text = runs[0]["direction"] == "minimize"
        if text:
            axis.set_yscale("log")
            axis.yaxis.set_major_locator(FixedLocator([10, 15, 20, 30, 40]))
            axis.yaxis.set_major_formatter(ScalarFormatter())
            axis.yaxis.set_minor_locator(NullLocator())
            axis.set_ylabel("validation perplexity")
        else:
            axis.axhline(CHANCE, color="#888888", linestyle=":", linewidth=0.9)
            axis.set_ylabel("validation accuracy")
        axis.set_title(title, fontsize=10)
        axis.set_xlabel("epoch")
        axis.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=4))
        for side in ("top", "right"):
            axis.spines[side].set_visible(False)
        best = min(ends) if text else max(ends)
        print(f"{name}: {len(runs)} curves, ends {min(ends):.3f} to {max(ends):.3f}, best {best:.3f}")
    figure.savefig(sys.argv[1], metadata={"Date": None})


if __name__ == "__main__":
    main()
