#!/usr/bin/env python3
"""Writes torch_losses.json: the losses of 50 steps of each space's network in PyTorch, from weights and data given by formulas.

    python3 crates/foretell-nn/tests/data/torch_losses.py       # needs torch on a CPU; 2.15 wrote the file

`src/torch.rs` trains the same networks from the same weights on the same batches and compares. Value i of matrix or kernel number k
(both from 0) is √(3/fan-in)·u(i, k), u(i, k) = 2·frac(43758.5453·sin(12.9898·(i + 1) + 78.233·k)) − 1, in the layout of our
networks: kernels as PyTorch's, matrices (inputs, outputs). Vectors keep their starting values. No dropout.

`--compare` prints how far PyTorch's own losses in 32 and in 64 bits are apart: what rounding alone does. The rates of resnet-tiny and
resnet-tiny-3, of resnet-39 and of lstm are a hundredth, a hundredth and a tenth of the recipes', at which rounding does little in 50 steps.
"""

import json
import math
import sys
from pathlib import Path

import torch
import torch.nn.functional as F

torch.set_num_threads(1)
STEPS, BATCHES, IMAGES, SIDE, CLASSES = 50, 4, 8, 16, 10
KIND = torch.float32


def pattern(count, k):
    """u(i, k) for i from 0 to count − 1."""
    v = 43758.5453 * torch.sin(12.9898 * torch.arange(1, count + 1, dtype=torch.float64) + 78.233 * k)
    return 2 * (v - v.floor()) - 1


class Weights:
    """Makes parameters by the formula."""

    def __init__(self):
        self.made, self.all = 0, []

    def matrix(self, *shape):
        fan_in = shape[0] if len(shape) == 2 else math.prod(shape[1:])
        values = math.sqrt(3 / fan_in) * pattern(math.prod(shape), self.made)
        self.made += 1
        return self.keep(values.to(KIND).reshape(shape))

    def vector(self, size, value=0.0):
        return self.keep(torch.full((size,), value, dtype=KIND))

    def keep(self, tensor):
        self.all.append(tensor.requires_grad_())
        return tensor


def batches(scale, side=SIDE):
    """(images, labels) of each batch."""
    count = IMAGES * 3 * side * side
    for batch in range(BATCHES):
        images = scale * pattern(count, 1000 + batch)
        yield images.to(KIND).reshape(IMAGES, 3, side, side), (torch.arange(IMAGES) * 3 + batch) % CLASSES


def train(loss_of, parameters, optimizer, data, clip=None):
    losses = []
    for step in range(STEPS):
        loss = loss_of(data[step % len(data)])
        losses.append(loss.item())
        optimizer.zero_grad()
        loss.backward()
        if clip:
            torch.nn.utils.clip_grad_norm_(parameters, clip)
        optimizer.step()
    return losses


def metaqnn():
    """[C(6,3,1), P(2,2), C(8,5,1), P(3,2), FC(12), SM(10)]"""
    w = Weights()
    c1, b1, c2, b2 = w.matrix(6, 3, 3, 3), w.vector(6), w.matrix(8, 6, 5, 5), w.vector(8)
    d1, e1, d2, e2 = w.matrix(8 * 3 * 3, 12), w.vector(12), w.matrix(12, 10), w.vector(10)

    def loss(batch):
        x = F.max_pool2d(F.relu(F.conv2d(batch[0], c1, b1, padding=1)), 2, 2)
        x = F.max_pool2d(F.relu(F.conv2d(x, c2, b2, padding=2)), 3, 2).flatten(1)
        return F.cross_entropy(F.relu(x @ d1 + e1) @ d2 + e2, batch[1])

    optimizer = torch.optim.Adam(w.all, lr=0.001, weight_decay=5e-4)
    return train(loss, w.all, optimizer, list(batches(1.0)))


def convnet():
    """Eight, eight and sixteen filters: a quarter of the width."""
    w = Weights()
    c1, b1, c2, b2 = w.matrix(8, 3, 5, 5), w.vector(8), w.matrix(8, 8, 5, 5), w.vector(8)
    c3, b3, d, e = w.matrix(16, 8, 5, 5), w.vector(16), w.matrix(16 * 2 * 2, 10), w.vector(10)
    scale, power = 0.05, 0.75

    def norm(x):
        return x / (1 + scale * F.avg_pool2d(x * x, 3, 1, 1)) ** power

    def loss(batch):
        x = norm(F.relu(F.max_pool2d(F.conv2d(batch[0], c1, b1, padding=2), 3, 2, ceil_mode=True)))
        x = norm(F.avg_pool2d(F.relu(F.conv2d(x, c2, b2, padding=2)), 3, 2, ceil_mode=True))
        x = F.avg_pool2d(F.relu(F.conv2d(x, c3, b3, padding=2)), 3, 2, ceil_mode=True)
        return F.cross_entropy(x.flatten(1) @ d + e, batch[1])

    groups = [{"params": [p], "weight_decay": decay} for p, decay in ((c1, 0.004), (c2, 0.02), (c3, 0.003), (d, 1.0))]
    groups.append({"params": [b1, b2, b3, e], "lr": 0.002})
    return train(loss, w.all, torch.optim.SGD(groups, lr=0.001, momentum=0.9), list(batches(10.0)))


class Norms:
    """Batch normalisation with the statistics of the batch."""

    def __init__(self, weights, channels):
        self.gamma, self.beta = weights.vector(channels, 1.0), weights.vector(channels)

    def __call__(self, x):
        return F.batch_norm(x, None, None, self.gamma, self.beta, training=True)


def alexnet():
    """6, 16, 24, 24 and 16 filters and 256 units, a sixteenth of the width, on images of 64 pixels; without dropout."""
    w, side = Weights(), 64
    convolutions, maps = [], 3
    for filters, kernel, start in ((6, 11, 0.0), (16, 5, 0.1), (24, 3, 0.0), (24, 3, 0.1), (16, 3, 0.1)):
        convolutions.append((w.matrix(filters, maps, kernel, kernel), w.vector(filters, start)))
        maps = filters
    dense = [(w.matrix(i, o), w.vector(o, start)) for i, o, start in ((16 * 2 * 2, 256, 0.1), (256, 256, 0.1), (256, 10, 0.0))]

    def pool(x):
        return F.max_pool2d(x, 3, 2, ceil_mode=True)

    def norm(x):
        return x / (1 + 1e-4 * F.avg_pool2d(x * x, 3, 1, 1)) ** 0.75

    def loss(batch):
        # SAME padding of 64 pixels, kernel 11, stride 4: 7 in all, the larger part after the last row and column
        x = F.relu(F.conv2d(F.pad(batch[0], (3, 4, 3, 4)), *convolutions[0], stride=4))
        x = pool(norm(x))
        x = pool(norm(F.relu(F.conv2d(x, *convolutions[1], padding=2))))
        for weight, start in convolutions[2:]:
            x = F.relu(F.conv2d(x, weight, start, padding=1))
        x = pool(x).flatten(1)
        for weight, start in dense[:-1]:
            x = F.relu(x @ weight + start)
        return F.cross_entropy(x @ dense[-1][0] + dense[-1][1], batch[1])

    layers = convolutions + dense
    groups = [{"params": [weight for weight, _ in layers], "weight_decay": 5e-4}]
    groups.append({"params": [start for _, start in layers], "lr": 0.002})
    return train(loss, w.all, torch.optim.SGD(groups, lr=0.001, momentum=0.9), list(batches(1.0, side)))


def residual(convolutions):
    """Twelve convolutions in blocks of two or three, the first third of them with four filters, kernels of 3 × 3."""
    w = Weights()
    first, norm, blocks, channels = w.matrix(4, 3, 3, 3), Norms(w, 4), [], 4
    count = 12 // convolutions
    for block in range(count):
        filters = 4 << (3 * block // count)
        stride, layers = 2 if filters > channels else 1, []
        for _ in range(convolutions):
            layers.append((w.matrix(filters, channels, 3, 3), Norms(w, filters)))
            channels = filters
        blocks.append((layers, stride))
    d, e = w.matrix(16, 10), w.vector(10)

    def loss(batch):
        x = F.relu(norm(F.conv2d(batch[0], first, padding=1)))
        for ((kernel, after), *others), stride in blocks:
            # SAME padding of an even size with stride 2 lies after the last row and column alone
            padded = F.pad(x, (0, 1, 0, 1)) if stride == 2 else F.pad(x, (1, 1, 1, 1))
            y = after(F.conv2d(padded, kernel, stride=stride))
            for kernel, after in others:
                y = after(F.conv2d(F.relu(y), kernel, padding=1))
            around = x[:, :, ::stride, ::stride]
            x = F.relu(y + F.pad(around, (0, 0, 0, 0, 0, y.shape[1] - around.shape[1])))
        return F.cross_entropy(x.mean((2, 3)) @ d + e, batch[1])

    optimizer = torch.optim.SGD(w.all, lr=0.001, momentum=0.9, nesterov=True, weight_decay=1e-4)
    return train(loss, w.all, optimizer, list(batches(1.0)))


def dense():
    """Twelve blocks of kernels 3 × 1 with six filters, block 5 linked with block 2, block 12 with block 7."""
    w = Weights()
    links, blocks, before = {5: 2, 12: 7}, [], 3
    for number in range(1, 13):
        channels = before + (6 if number in links else 0)
        kernels = [w.matrix(6, c, 3, 1) for c in (channels, 6, 6)]
        blocks.append((kernels, [Norms(w, 6) for _ in kernels], links.get(number)))
        before = 6
    d, e = w.matrix(6 * 4 * 4, 10), w.vector(10)

    def loss(batch):
        outputs = []
        for number, (kernels, norms, link) in enumerate(blocks, 1):
            if number in (5, 8):
                outputs = [F.max_pool2d(maps, 2, 2) for maps in outputs]
            x = outputs[-1] if outputs else batch[0]
            x = torch.cat([x, outputs[link - 1]], 1) if link else x
            total = None
            for kernel, norm in zip(kernels, norms):
                y = F.relu(norm(F.conv2d(x if total is None else total, kernel, padding=(1, 0))))
                total = y if total is None else total + y
            outputs.append(total)
        return F.cross_entropy(outputs[-1].flatten(1) @ d + e, batch[1])

    optimizer = torch.optim.RMSprop(w.all, lr=1e-5, weight_decay=1e-4)
    return train(loss, w.all, optimizer, list(batches(1.0)))


def lstm(depth, rate):
    """Layers of seven cells, five inputs, eleven words; four parts of a text of 5 steps."""
    w = Weights()
    words, cells, inputs, steps, parts = 11, 7, 5, 5, 4
    embedding, layers, size = w.matrix(words, inputs), [], inputs
    for _ in range(depth):
        layers.append((w.matrix(size, 4 * cells), w.matrix(cells, 4 * cells), w.vector(4 * cells)))
        size = cells
    d, e = w.matrix(cells, words), w.vector(words)

    def loss(batch):
        tokens, targets = batch
        x = embedding[tokens]
        for into, recurrent, bias in layers:
            h, c, outputs = torch.zeros(parts, cells, dtype=KIND), torch.zeros(parts, cells, dtype=KIND), []
            for step in x:
                enter, keep, fresh, show = (step @ into + bias + h @ recurrent).split(cells, 1)
                c = torch.sigmoid(keep) * c + torch.sigmoid(enter) * torch.tanh(fresh)
                h = torch.sigmoid(show) * torch.tanh(c)
                outputs.append(h)
            x = torch.stack(outputs)
        return F.cross_entropy(x.reshape(-1, cells) @ d + e, targets)

    def text(batch, ahead):
        return torch.tensor([[(7 * (s + ahead) + 3 * p * p + batch) % words for p in range(parts)] for s in range(steps)])

    data = [(text(batch, 0), text(batch, 1).flatten()) for batch in range(BATCHES)]
    return train(loss, w.all, torch.optim.SGD(w.all, lr=rate), data, clip=0.25)


families = {
    "metaqnn": metaqnn,
    "cuda-convnet": convnet,
    "alexnet": alexnet,
    "resnet-tiny": lambda: residual(2),
    "resnet-tiny-3": lambda: residual(3),
    "resnet-39": dense,
    "lstm": lambda: lstm(2, 2.0),
    "lstm-400": lambda: lstm(4, 3.5),
}
losses = {name: [float(f"{loss:.7g}") for loss in run()] for name, run in families.items()}
if "--compare" in sys.argv:
    KIND = torch.float64
    for name, run in families.items():
        gaps = [abs(a - b) / b for a, b in zip(losses[name], run())]
        print(f"{name:14}{gaps[0]:9.1e} at the first step, {max(gaps):9.1e} at most; {losses[name][0]} to {losses[name][-1]}")
else:
    text = json.dumps(losses).replace("], ", "],\n")
    (Path(__file__).parent / "torch_losses.json").write_text(text + "\n")
