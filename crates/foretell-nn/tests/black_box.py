#!/usr/bin/env python3
"""Compares `foretell train` with PyTorch from the outside: sampled networks of four spaces, at the learning rates of their recipes.

    python3 crates/foretell-nn/tests/black_box.py target/release/foretell [--networks 10] [--seed 0]     # needs torch

The script writes the images: one per class, repeated, so that every split contains the same ten, and symmetric, so that mirroring changes nothing.
An epoch is therefore one step on the whole set. The checkpoints after the last two epochs hold the weights and the memory of the optimizer. PyTorch
loads the first one and takes one step, once in 64 bits and once in 32. Foretell's own step, in 32 bits, may be as far from the one in 64 bits as rounding
explains: the bound is a multiple of the distance of PyTorch's 32 bits, and of the rounding of the weights. The validation losses of both checkpoints are
compared in the same way, in evaluation mode.

The random numbers of dropout are Foretell's own, so a network with dropout is only compared in evaluation mode.
"""

import argparse
import json
import math
import random
import struct
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import torch
import torch.nn as nn
import torch.nn.functional as F

sys.path.append(str(Path(__file__).parents[3] / "examples/networks"))
import net as script  # noqa: E402

EPOCHS = 6
# two programs that round in another order are each as far from 64 bits as chance has it, so their distances are of one size, but not equal
MULTIPLE = 8
# the relative rounding of a number of 32 bits
ROUNDING = 2.0**-24


def images(shape, source):
    """One symmetric image per class, values 0 to 255."""
    channels, height, width = shape
    half = [[[source.randrange(256) for _ in range(width // 2)] for _ in range(height)] for _ in range(10 * channels)]
    rows = torch.tensor(half, dtype=torch.uint8).reshape(10, channels, height, width // 2)
    return torch.cat([rows, rows.flip(3)], 3)


def write(folder, pixels):
    """The images, twice, in the format of CIFAR-10 or MNIST; returns the flag that names them."""
    twice, labels = torch.cat([pixels, pixels]), bytes(range(10)) * 2
    if pixels.shape[1] == 3:
        records = (bytes([label]) + bytes(image.flatten().tolist()) for label, image in zip(labels, twice))
        Path(folder, "data_batch_1.bin").write_bytes(b"".join(records))
        return f"cifar10:{folder}"
    sizes = struct.pack(">IIII", 0x803, 20, *pixels.shape[2:])
    Path(folder, "train-images-idx3-ubyte").write_bytes(sizes + bytes(twice.flatten().tolist()))
    Path(folder, "train-labels-idx1-ubyte").write_bytes(struct.pack(">II", 0x801, 20) + labels)
    return f"mnist:{folder}"


def inputs(pixels, space):
    """The numbers that a network sees."""
    values = pixels.float()
    if space == "cuda-convnet":
        return values - values.mean(0)
    if pixels.shape[1] == 1:
        return (values - 127.5) / 63.75
    flat = values.flatten(1)
    mean, deviation = flat.mean(1), flat.std(1, correction=0)
    return (values - mean[:, None, None, None]) / deviation[:, None, None, None]


class Residual(nn.Module):
    """6n + 2 layers in blocks of two or three convolutions."""

    def __init__(self, settings, channels, convolutions):
        super().__init__()
        filters, kernel, count = settings["filters"], settings["kernel"], 6 * settings["blocks"] // convolutions
        self.first, self.norm, self.blocks, before = script.SameConv(channels, filters, kernel, bias=False), nn.BatchNorm2d(filters), nn.ModuleList(), filters
        for number in range(count):
            own = filters << (3 * number // count)
            sizes = [(before, own, 2 if own > before else 1)] + [(own, own, 1)] * (convolutions - 1)
            layers = nn.ModuleList(script.SameConv(into, out, kernel, stride, bias=False) for into, out, stride in sizes)
            self.blocks.append(nn.ModuleList([layers, nn.ModuleList(nn.BatchNorm2d(own) for _ in sizes)]))
            before = own
        self.last = nn.Linear(before, 10)

    def forward(self, x):
        x = F.relu(self.norm(self.first(x)))
        for layers, norms in self.blocks:
            y = x
            for number, (layer, norm) in enumerate(zip(layers, norms)):
                y = norm(layer(F.relu(y) if number else y))
            stride = layers[0].stride[0]
            around = x[:, :, ::stride, ::stride]
            x = F.relu(y + F.pad(around, (0, 0, 0, 0, 0, y.shape[1] - around.shape[1])))
        return self.last(x.mean((2, 3)))


def notation(source, shape):
    """A random network in layer notation, small enough to train in seconds."""
    size, layers, is_open = min(shape[1:]), [], True
    dropouts = source.choice([0, 0, 2])
    for _ in range(source.randint(1, 4)):
        if source.random() < 0.6 or size < 5:
            stride = source.choice([1, 1, 2])
            layers.append(f"C({source.choice([8, 16, 32])},{source.choice([1, 3, 5])},{stride})")
            size = -(-size // stride)
        else:
            kernel, stride = source.choice([(2, 2), (3, 2), (5, 3)])
            layers.append(f"P({kernel},{stride})")
            size = (size - kernel) // stride + 1
        if dropouts and len(layers) % 2 == 0 and is_open:
            layers.append(f"D(1,{dropouts})")
            is_open = False
    ending = source.choice([[], ["FC(32)"], ["FC(64)", "FC(32)"], ["GAP(10)"]])
    return "[" + ", ".join([*layers, *ending, "SM(10)"]) + "]"


def metaqnn(source, shape):
    net = notation(source, shape)
    network, optimizer = script.metaqnn(net, shape)
    plan = SimpleNamespace(epochs=EPOCHS)
    return ["--net", net, "--learning-rate", "0.001"], network, optimizer, 0.001 * script.factor(plan, None, EPOCHS)


def cuda_convnet(source, shape):
    def log(low, high):
        return math.exp(source.uniform(math.log(low), math.log(high)))

    settings = {"learning_rate": log(1e-4, 1e-2), "learning_rate_reductions": source.randint(0, 3), "lrn_scale": log(5e-6, 5e-2), "lrn_power": source.uniform(0.01, 3)}
    settings |= {name: log(5e-5, 5e-1) for name in ("conv1_l2", "conv2_l2", "conv3_l2", "fc_l2")}
    width = source.choice([0.125, 0.25, 0.5])
    network, optimizer = script.cuda_convnet({**settings, "classes": 10}, shape, width)
    words = ["--width", str(width)] + [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]
    rate = settings["learning_rate"] * script.factor(SimpleNamespace(epochs=EPOCHS), settings, EPOCHS)
    return words, network, optimizer, rate


def residual(convolutions):
    def sampled(source, shape):
        settings = {"blocks": source.randint(1, 3), "filters": source.randint(2, 8), "kernel": source.choice([3, 5, 7])}
        network = Residual(settings, shape[0], convolutions)
        words = [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]

        def optimizer(rate):
            return torch.optim.SGD(network.parameters(), lr=rate, momentum=0.9, nesterov=True, weight_decay=1e-4)

        return words, network, optimizer, 0.1 * 0.1 ** (4 * (EPOCHS - 1) // EPOCHS)

    return sampled


SPACES = {"metaqnn": metaqnn, "cuda-convnet": cuda_convnet, "resnet-tiny": residual(2), "resnet-tiny-3": residual(3)}


def tensors(network):
    """Weights and running statistics in the order of a checkpoint, and whether they are stored transposed and are trained."""
    if isinstance(network, Residual):
        parts = [(network.first,), (network.norm,)]
        parts += [modules for block in network.blocks for modules in block]
        leaves = [leaf for part in parts for leaf in part] + [network.last]
    else:
        leaves = [layer for layer in network if hasattr(layer, "weight")]
    for leaf in leaves:
        yield leaf.weight, isinstance(leaf, nn.Linear), True
        if leaf.bias is not None:
            yield leaf.bias, False, True
        if isinstance(leaf, nn.BatchNorm2d):
            yield leaf.running_mean, False, False
            yield leaf.running_var, False, False


def read(path):
    """The reports, the values, and the memory of the optimizer: its steps, and its numbers."""
    rest, blocks = path.read_bytes().split(b"\n", 1)[1], []
    for _ in range(3):
        length = struct.unpack("<Q", rest[:8])[0]
        blocks.append(rest[8 : 8 + length])
        rest = rest[8 + length :]
    header, weights, state = blocks
    numbers = [torch.frombuffer(bytearray(block), dtype=torch.float32) for block in (weights, state[8:])]
    return json.loads(header)["reports"], numbers[0], struct.unpack("<Q", state[:8])[0], numbers[1]


def shaped(values, like, transposed):
    return (values.reshape(like.shape[::-1]).T if transposed else values.reshape(like.shape)).contiguous()


def load(network, values):
    """Weights of a checkpoint, in the precision of the network."""
    with torch.no_grad():
        for tensor, transposed, _ in tensors(network):
            part, values = values[: tensor.numel()], values[tensor.numel() :]
            tensor.copy_(shaped(part, tensor, transposed))
    assert len(values) == 0, f"the checkpoint has {len(values)} values more"


def remember(network, optimizer, steps, memory):
    names = ["exp_avg", "exp_avg_sq"] if isinstance(optimizer, torch.optim.Adam) else ["momentum_buffer"]
    for tensor, transposed, is_trained in tensors(network):
        if is_trained:
            state = {"step": torch.tensor(float(steps))} if len(names) == 2 else {}
            for name in names:
                part, memory = memory[: tensor.numel()], memory[tensor.numel() :]
                # a copy: the optimizer writes into its memory
                state[name] = shaped(part, tensor, transposed).to(tensor.dtype, copy=True)
            optimizer.state[tensor] = state


def flat(network):
    parts = [(tensor.T if transposed else tensor).flatten() for tensor, transposed, _ in tensors(network)]
    return torch.cat(parts).detach().double()


def judged(network, x, labels):
    network.eval()
    with torch.no_grad():
        return F.cross_entropy(network(x.to(network_type(network))), labels).item()


def network_type(network):
    return next(network.parameters()).dtype


def stepped(network, optimizer, before, x, labels):
    """The weights after one step of PyTorch from a checkpoint, in the precision of the network."""
    _, values, steps, memory = before
    load(network, values)
    remember(network, optimizer, steps, memory)
    network.train()
    optimizer.zero_grad()
    F.cross_entropy(network(x.to(network_type(network))), labels).backward()
    optimizer.step()
    return flat(network)


class Distance:
    """How far Foretell and PyTorch's 32 bits are from 64 bits, as fractions of what is compared, and the bound for Foretell."""

    def __init__(self, ours, peer, floor):
        self.ours, self.peer, self.bound = ours, peer, MULTIPLE * (peer + floor)

    def is_rounding(self):
        return self.ours <= self.bound

    def __str__(self):
        return f"{self.ours:.1e} from 64 bits, PyTorch in 32 bits {self.peer:.1e}, bound {self.bound:.1e}"


def compare(foretell, space, source, seed):
    """The distances of the step and of each loss; the step's is none for a network with dropout, both are none where training diverged."""
    shape = source.choice([(3, 32, 32), (1, 28, 28), (1, 20, 24)])
    pixels, labels = images(shape, source), torch.arange(10)
    words, network, optimizer, rate = SPACES[space](source, shape)
    with tempfile.TemporaryDirectory() as folder:
        command = [foretell, "train", "--space", space, "--data", write(folder, pixels), "--epochs", str(EPOCHS), "--batch-size", "10"]
        command += ["--train-size", "10", "--validation-size", "10", "--seed", str(seed), "--checkpoint-dir", folder, *words]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{' '.join(command)} failed\n{done.stderr}")
        before, after = (read(Path(folder, f"epoch-{epoch:06}.checkpoint")) for epoch in (EPOCHS - 1, EPOCHS))
    reports, shown = after[0], f"{space} {shape} {' '.join(words)}"
    assert math.isclose(reports[-1]["learning_rate"], rate, rel_tol=1e-6), f"{shown}: rate {reports[-1]['learning_rate']}, expected {rate}"
    if any(report["validation_loss"] is None for report in reports):
        return shown, None, None
    x, losses, steps = inputs(pixels, space), [], []
    for kind in (torch.float32, torch.float64):
        network.to(kind)
        for _, values, _, _ in (before, after):
            load(network, values)
            losses.append(judged(network, x, labels))
        if not any(isinstance(layer, nn.Dropout) for layer in network.modules()):
            steps.append(stepped(network, optimizer(rate), before, x, labels))
    found = []
    for report, peer, exact in zip(reports[-2:], losses[:2], losses[2:]):
        scale = max(abs(exact), 1e-3)
        # a loss is the mean of ten, each the difference of numbers of about its size
        found.append(Distance(abs(report["validation_loss"] - exact) / scale, abs(peer - exact) / scale, 10 * ROUNDING))
    if not steps:
        return shown, None, found
    # a checkpoint holds 32 bits: the step in 64 bits ends at the nearest of these
    peer, exact = steps[0], steps[1].float().double()
    ours, start = after[1].double(), before[1].double()
    length = (exact - start).norm().clamp_min(1e-12)
    # gradients differ by about ten roundings, d. Rounding a weight w to 32 bits then makes a whole last bit of d, 2·ROUNDING·w, with the
    # probability d / (2·ROUNDING·w), so the mean square of all weights is the sum of 2·ROUNDING·w·d
    floor = 10 * ROUNDING + ROUNDING * math.sqrt(20 * start.norm() / length)
    return shown, Distance(((ours - exact).norm() / length).item(), ((peer - exact).norm() / length).item(), floor), found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("foretell", nargs="?", default="target/release/foretell")
    parser.add_argument("--networks", type=int, default=10, help="networks per space")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    failed = 0
    print("| space | networks | steps compared | a step: Foretell from 64 bits | PyTorch in 32 bits | a loss: Foretell | PyTorch |\n|---|---|---|---|---|---|---|")
    for space in SPACES:
        steps, losses, networks = [], [], 0
        for number in range(arguments.networks):
            source = random.Random(f"{arguments.seed} {space} {number}")
            torch.manual_seed(number)
            shown, step, loss = compare(arguments.foretell, space, source, number)
            steps += [step] if step else []
            losses += loss or []
            networks += loss is not None
            for distance in filter(None, [step, *(loss or [])]):
                if not distance.is_rounding():
                    failed += 1
                    print(f"{shown}: {'a step' if distance is step else 'a loss'} is {distance}", file=sys.stderr)
        largest = [f"{max(getattr(one, side) for one in found):.1e}" if found else "–" for found in (steps, losses) for side in ("ours", "peer")]
        print(f"| `{space}` | {networks} | {len(steps)} | {' | '.join(largest)} |", flush=True)
        # where most trainings diverge, or none can be stepped, nothing was compared
        failed += networks < arguments.networks / 2 or not steps
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
