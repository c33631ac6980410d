#!/usr/bin/env python3
"""The cost of an epoch of each built-in space next to the same network in PyTorch: processor time of one thread each, in turn.

    python3 benches/peers/throughput.py [foretell] [--rounds 3]      # needs torch

An epoch trains on 1000 drawn images (lstm: 20,000 words) and judges the network on 200 (2000). In a round each side trains three epochs,
and the fastest of the last two counts; the table shows the medians of the rounds. PyTorch gets random images of the same shape, already
in memory, and its own layers (`nn.LSTM`, `nn.BatchNorm2d`), so that nothing of ours slows it down.
"""

import argparse
import os
import statistics
import subprocess
import sys
import time

for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS"):
    os.environ[name] = "1"

import torch
from torch import nn
from torch.nn import functional as F

torch.set_num_threads(1)
IMAGES, JUDGED, CLASSES, SIDE = 1000, 200, 10, 32
WORDS, TOKENS, JUDGED_TOKENS, UNROLLED = 50, 20_000, 2_000, 35
EPOCHS = 3


class Metaqnn(nn.Sequential):
    """[C(32,3,1), C(32,3,1), P(2,2), C(64,5,1), P(3,2), FC(128), SM(10)]"""

    def __init__(self):
        super().__init__(
            nn.Conv2d(3, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2, 2),
            nn.Conv2d(32, 64, 5, padding=2), nn.ReLU(), nn.MaxPool2d(3, 2), nn.Flatten(),
            nn.Linear(64 * 7 * 7, 128), nn.ReLU(), nn.Linear(128, CLASSES),
        )

    def optimizer(self):
        return torch.optim.Adam(self.parameters(), lr=1e-3, weight_decay=5e-4)


class CudaConvnet(nn.Module):
    """32, 32 and 64 filters with response normalisation within channels."""

    def __init__(self):
        super().__init__()
        self.one, self.two = nn.Conv2d(3, 32, 5, padding=2), nn.Conv2d(32, 32, 5, padding=2)
        self.three, self.last = nn.Conv2d(32, 64, 5, padding=2), nn.Linear(64 * 4 * 4, CLASSES)

    def forward(self, x):
        def norm(x):
            return x / (1 + 0.001 * F.avg_pool2d(x * x, 3, 1, 1)) ** 0.75

        x = norm(F.relu(F.max_pool2d(self.one(x), 3, 2, ceil_mode=True)))
        x = norm(F.avg_pool2d(F.relu(self.two(x)), 3, 2, ceil_mode=True))
        x = F.avg_pool2d(F.relu(self.three(x)), 3, 2, ceil_mode=True)
        return self.last(x.flatten(1))

    def optimizer(self):
        return torch.optim.SGD(self.parameters(), lr=1e-3, momentum=0.9, weight_decay=1e-3)


class Residual(nn.Module):
    """Two convolutions with batch normalisation around which the signal goes."""

    def __init__(self, channels, filters, stride):
        super().__init__()
        self.stride, self.more = stride, filters - channels
        self.one = nn.Conv2d(channels, filters, 3, stride, padding=1, bias=False)
        self.two = nn.Conv2d(filters, filters, 3, padding=1, bias=False)
        self.norm_one, self.norm_two = nn.BatchNorm2d(filters), nn.BatchNorm2d(filters)

    def forward(self, x):
        y = self.norm_two(self.two(F.relu(self.norm_one(self.one(x)))))
        around = x[:, :, :: self.stride, :: self.stride]
        return F.relu(y + F.pad(around, (0, 0, 0, 0, 0, self.more)))


class ResnetTiny(nn.Sequential):
    """14 layers, 8 filters at first, kernels of 3 × 3."""

    def __init__(self):
        layers, channels = [nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU()], 8
        for stage in range(3):
            for block in range(2):
                layers.append(Residual(channels, 8 << stage, 2 if stage and not block else 1))
                channels = 8 << stage
        super().__init__(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, CLASSES))

    def optimizer(self):
        return torch.optim.SGD(self.parameters(), lr=0.1, momentum=0.9, nesterov=True, weight_decay=1e-4)


class Dense(nn.Module):
    """Three convolutions, each of the sum of those before."""

    def __init__(self, channels, filters):
        super().__init__()
        kernels = [nn.Conv2d(c, filters, 3, padding=1, bias=False) for c in (channels, filters, filters)]
        self.kernels, self.norms = nn.ModuleList(kernels), nn.ModuleList(nn.BatchNorm2d(filters) for _ in kernels)

    def forward(self, x):
        total = None
        for kernel, norm in zip(self.kernels, self.norms):
            y = F.relu(norm(kernel(x if total is None else total)))
            total = y if total is None else total + y
        return total


class Resnet39(nn.Sequential):
    """Twelve blocks of 6 filters and kernels of 3 × 3, without links."""

    def __init__(self):
        blocks = []
        for block in range(12):
            blocks += [nn.MaxPool2d(2, 2)] if block in (4, 7) else []
            blocks.append(Dense(3 if block == 0 else 6, 6))
        super().__init__(*blocks, nn.Flatten(), nn.Linear(6 * 8 * 8, CLASSES))

    def optimizer(self):
        return torch.optim.RMSprop(self.parameters(), lr=1e-3, weight_decay=1e-4)


class Lstm(nn.Module):
    """Two layers of 200 cells, vectors of 200 numbers, 50 words."""

    def __init__(self):
        super().__init__()
        self.words, self.last = nn.Embedding(WORDS, 200), nn.Linear(200, WORDS)
        self.layers, self.drop = nn.LSTM(200, 200, 2, dropout=0.5), nn.Dropout(0.5)

    def forward(self, tokens, state):
        x, state = self.layers(self.drop(self.words(tokens)), state)
        return self.last(self.drop(x)).flatten(0, 1), state

    def optimizer(self):
        return torch.optim.SGD(self.parameters(), lr=20.0)


def torch_images(network, batch):
    network, images = network(), torch.randn(IMAGES, 3, SIDE, SIDE)
    labels, optimizer = torch.randint(CLASSES, (IMAGES,)), None
    optimizer = network.optimizer()
    for _ in range(EPOCHS):
        start = time.process_time()
        network.train()
        for chosen in torch.randperm(IMAGES).split(batch):
            optimizer.zero_grad()
            F.cross_entropy(network(images[chosen]), labels[chosen]).backward()
            optimizer.step()
        network.eval()
        with torch.no_grad():
            for chosen in torch.arange(JUDGED).split(128):
                F.cross_entropy(network(images[chosen]), labels[chosen])
        yield time.process_time() - start


def torch_text(network, batch):
    network = network()
    optimizer = network.optimizer()

    def stretches(tokens, parts):
        tokens = torch.randint(WORDS, (tokens // parts, parts))
        return [(tokens[a : a + UNROLLED], tokens[a + 1 : a + 1 + UNROLLED]) for a in range(0, len(tokens) - UNROLLED, UNROLLED)]

    learnt, judged = stretches(TOKENS, batch), stretches(JUDGED_TOKENS, 10)
    for _ in range(EPOCHS):
        start = time.process_time()
        network.train()
        state = None
        for tokens, targets in learnt:
            optimizer.zero_grad()
            logits, state = network(tokens, state)
            state = tuple(part.detach() for part in state)
            F.cross_entropy(logits, targets.flatten()).backward()
            nn.utils.clip_grad_norm_(network.parameters(), 0.25)
            optimizer.step()
        network.eval()
        state = None
        with torch.no_grad():
            for tokens, targets in judged:
                logits, state = network(tokens, state)
                F.cross_entropy(logits, targets.flatten())
        yield time.process_time() - start


def processor_time(pid):
    """Seconds of the processor that a process has used."""
    with open(f"/proc/{pid}/stat") as file:
        user, system = file.read().rsplit(")", 1)[1].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def ours(foretell, space, data, sizes, batch, settings, width):
    """Seconds of each epoch of `foretell train`, from report to report."""
    command = [foretell, "train", "--space", space, "--data", data, "--epochs", str(EPOCHS), "--batch-size", str(batch)]
    command += ["--train-size", str(sizes[0]), "--validation-size", str(sizes[1]), "--width", str(width)]
    # one starting rate: no attempts before the first epoch, and none too large to continue with
    command += [] if space == "cuda-convnet" else ["--learning-rate", "0.001"]
    for setting in settings:
        command += ["--net", setting] if space == "metaqnn" else ["--set", setting]
    # as `foretell search` starts its trials
    memory = {name: str(1 << 30) for name in ("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_")}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ | memory) as process:
        times = [processor_time(process.pid) for _ in process.stdout]
    if process.returncode:
        sys.exit(f"{' '.join(command)} failed")
    return [b - a for a, b in zip(times, times[1:])]


RESNET_39 = [f"{what}{block}={value}" for block in range(1, 13) for what, value in (("height", 3), ("width", 3), ("filters", 6))]
RESNET_39 += [f"links{block}=0" for block in range(3, 13)]
CONVNET = ["learning_rate=0.001", "learning_rate_reductions=0", "conv1_l2=0.001", "conv2_l2=0.001", "conv3_l2=0.001"]
CONVNET += ["fc_l2=0.1", "lrn_scale=0.001", "lrn_power=0.75"]
# space, batch, our settings, PyTorch's network
FAMILIES = [
    ("metaqnn", 64, ["[C(32,3,1), C(32,3,1), P(2,2), C(64,5,1), P(3,2), FC(128), SM(10)]"], Metaqnn),
    ("cuda-convnet", 100, CONVNET, CudaConvnet),
    ("resnet-tiny", 50, ["blocks=2", "filters=8", "kernel=3"], ResnetTiny),
    ("resnet-39", 50, RESNET_39, Resnet39),
    ("lstm", 20, ["layers=2", "cells=200", "inputs=200"], Lstm),
]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("foretell", nargs="?", default="target/release/foretell")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", help="one family")
    arguments = parser.parse_args()
    print(f"torch {torch.__version__}, one thread each, medians of {arguments.rounds} rounds, seconds an epoch")
    print(f"{'':14}{'foretell':>9}{'torch':>9}{'ratio':>7}")
    for space, batch, settings, network in FAMILIES:
        if arguments.only not in (None, space):
            continue
        text = space == "lstm"
        data, sizes = ("words", (TOKENS, JUDGED_TOKENS)) if text else (f"shapes:{SIDE}", (IMAGES, JUDGED))
        rounds = []
        for _ in range(arguments.rounds):
            mine = min(ours(arguments.foretell, space, data, sizes, batch, settings, 1.0))
            theirs = list(torch_text(network, batch) if text else torch_images(network, batch))
            rounds.append((mine, min(theirs[1:])))
        mine, theirs = (statistics.median(times) for times in zip(*rounds))
        print(f"{space:14}{mine:9.3f}{theirs:9.3f}{mine / theirs:7.2f}", flush=True)


if __name__ == "__main__":
    main()
