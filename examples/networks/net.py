"""Trains the networks of the paper's two searches in PyTorch, on CUDA, MPS or the processor, one network per process.

    foretell search examples/networks/metaqnn.toml          # net.py '{net}': a network by its notation
    foretell search examples/networks/cuda-convnet.toml     # net.py cuda-convnet: eight settings, from FORETELL_PARAMS

They have the layers, starting weights, optimizers and schedules of the built-in spaces `metaqnn` and `cuda-convnet`. `--data` is the folder
of CIFAR-10's binary files (`foretell data fetch cifar10`); without it, images of stripes are drawn. `--check` compares the parameter
counts and 50 losses with those in `torch_losses.json`, with which the built-in networks are compared, too.
"""

import argparse
import json
import math
import os
import re
import sys
from pathlib import Path

import torch
import torch.nn as nn
import torch.nn.functional as F

RATES = [0.001 * 0.4**attempt for attempt in range(5)]  # MetaQNN's: the first at which a network learns


class SameConv(nn.Conv2d):
    """A convolution whose output is ⌈size/stride⌉ large; an odd padding comes after the last row and column."""

    def forward(self, x):
        total = [max(0, (-(-size // self.stride[0]) - 1) * self.stride[0] + self.kernel_size[0] - size) for size in x.shape[2:]]
        (rows, columns) = total
        return super().forward(F.pad(x, (columns // 2, columns - columns // 2, rows // 2, rows - rows // 2)))


class ResponseNorm(nn.Module):
    """x / (1 + scale/9 · Σ x²)^power over windows of 3 × 3 in its own map."""

    def __init__(self, scale, power):
        super().__init__()
        self.scale, self.power = scale, power

    def forward(self, x):
        return x / (1 + self.scale * F.avg_pool2d(x * x, 3, 1, 1)) ** self.power


class Columns(nn.Module):
    """Vectors as images of one pixel, for a convolution that follows a fully connected layer."""

    def forward(self, x):
        return x if x.dim() == 4 else x[:, :, None, None]


def xavier(layer):
    """Caffe's range: U(±√(3/fan-in)); biases 0."""
    bound = math.sqrt(3 / layer.weight[0].numel())
    nn.init.uniform_(layer.weight, -bound, bound)
    nn.init.zeros_(layer.bias)
    return layer


def metaqnn(notation, shape):
    """The network of a notation such as `[C(32,3,1), P(2,2), D(1,2), FC(128), SM(10)]`, for images of `shape`."""
    channels, height, width = shape
    layers, is_image, averaged = [], True, False
    for kind, numbers in re.findall(r"([A-Z]+)\(([\d, ]+)\)", notation):
        a, b, c = ([int(number) for number in numbers.split(",")] + [1, 1])[:3]
        if kind in ("C", "GAP"):
            kernel, stride = (b, c) if kind == "C" else (1, 1)
            layers += [Columns(), xavier(SameConv(channels, a, kernel, stride)), nn.ReLU()]
            channels, height, width, is_image = a, -(-height // stride), -(-width // stride), True
            if kind == "GAP":
                averaged = True
                layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten()]
        elif kind == "P":
            layers += [Columns(), nn.MaxPool2d(a, b)]
            height, width = (height - a) // b + 1, (width - a) // b + 1
        elif kind == "D":
            layers.append(nn.Dropout(0.5 * a / b))
        elif kind == "FC" or not averaged:
            layers += [nn.Flatten(), xavier(nn.Linear(channels * height * width, a))]
            layers += [nn.ReLU()] if kind == "FC" else []
            channels, height, width = a, 1, 1
    network = nn.Sequential(*layers)
    return network, lambda rate: torch.optim.Adam(network.parameters(), lr=rate, weight_decay=5e-4)


def cuda_convnet(settings, shape, width=1.0):
    """The "18 %" network: three convolutions with pooling, two with response normalization, a penalty for each layer."""
    narrow, wide = (max(1, round(filters * width)) for filters in (32, 64))
    sides = [size for size in shape[1:]]
    for _ in range(3):
        sides = [-(-(size - 3) // 2) + 1 for size in sides]
    convolutions = [SameConv(shape[0], narrow, 5), SameConv(narrow, narrow, 5), SameConv(narrow, wide, 5)]
    last = nn.Linear(wide * sides[0] * sides[1], settings["classes"])
    for layer, deviation in zip([*convolutions, last], (1e-4, 0.01, 0.01, 0.01)):
        nn.init.normal_(layer.weight, 0, deviation)
        nn.init.zeros_(layer.bias)
    norm = lambda: ResponseNorm(settings["lrn_scale"], settings["lrn_power"])
    mean = lambda: nn.AvgPool2d(3, 2, ceil_mode=True)
    network = nn.Sequential(
        convolutions[0], nn.MaxPool2d(3, 2, ceil_mode=True), nn.ReLU(), norm(),
        convolutions[1], nn.ReLU(), mean(), norm(),
        convolutions[2], nn.ReLU(), mean(), nn.Flatten(), last,
    )  # fmt: skip

    def optimizer(rate):
        penalties = zip([*convolutions, last], ("conv1_l2", "conv2_l2", "conv3_l2", "fc_l2"))
        groups = [{"params": [layer.weight], "weight_decay": settings[name], "lr": rate} for layer, name in penalties]
        groups.append({"params": [layer.bias for layer in (*convolutions, last)], "lr": 2 * rate})
        return torch.optim.SGD(groups, lr=rate, momentum=0.9)

    return network, optimizer


def cifar10(folder):
    """Training images, labels, validation images, labels; every tenth image is of the validation part."""
    records = b"".join(path.read_bytes() for path in sorted(Path(folder).rglob("data_batch_*.bin")))
    if not records:
        sys.exit(f"{folder} has no data_batch_*.bin: fetch them by `foretell data fetch cifar10`")
    rows = torch.frombuffer(bytearray(records), dtype=torch.uint8).reshape(-1, 3073)
    images, labels = rows[:, 1:].reshape(-1, 3, 32, 32).float(), rows[:, 0].long()
    return split(images, labels)


def drawn(count=2000, classes=10, side=32):
    """Images of stripes in a round window, in noise. The class is the direction of the stripes; place, width, phase and color vary, and so
    does the direction by a few degrees, so that no network is always right."""
    source = torch.Generator().manual_seed(7)
    uniform = lambda low, high: low + (high - low) * torch.rand(count, 1, 1, generator=source)
    labels = (torch.arange(count) + torch.arange(count) // 10) % classes
    rows, columns = torch.meshgrid(torch.arange(side), torch.arange(side), indexing="ij")
    angles = math.pi * (labels[:, None, None] + 0.35 * torch.randn(count, 1, 1, generator=source)) / classes
    across = rows * angles.sin() + columns * angles.cos()
    stripes = torch.sin(2 * math.pi * across / uniform(5, 8) + uniform(0, 2 * math.pi))
    distance = ((rows - uniform(9, side - 9)) ** 2 + (columns - uniform(9, side - 9)) ** 2).sqrt()
    window = (distance < uniform(9, 13)).float()
    colors = 0.3 + 0.7 * torch.rand(count, 3, 1, 1, generator=source)
    images = 40 * colors * (stripes * window)[:, None] + 12 * torch.randn(count, 3, side, side, generator=source)
    return split(images, labels)


def split(images, labels):
    judged = torch.arange(len(images)) % 10 == 9
    mean = images[~judged].mean(0)
    images = (images - mean) / images[~judged].std()
    return images[~judged], labels[~judged], images[judged], labels[judged]


def judge(network, images, labels, device):
    """Accuracy and mean cross-entropy."""
    network.eval()
    with torch.no_grad():
        logits = torch.cat([network(part.to(device)).cpu() for part in images.split(500)])
    return (logits.argmax(1) == labels).float().mean().item(), F.cross_entropy(logits, labels).item()


def factor(arguments, settings, epoch):
    """Of the learning rate, in an epoch from 1: to a fifth at each quarter of the plan, or to a tenth in even steps."""
    if settings is None:
        return 0.2 ** (4 * (epoch - 1) // arguments.epochs)
    falls = int(settings["learning_rate_reductions"])
    return 0.1 ** ((epoch - 1) * (falls + 1) // arguments.epochs)


def train(arguments):
    device = arguments.device or ("cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu")
    images, labels, judged_images, judged_labels = cifar10(arguments.data) if arguments.data else drawn()
    classes = int(labels.max()) + 1
    settings = None
    if arguments.net == "cuda-convnet":
        settings = {**json.loads(Path(os.environ["FORETELL_PARAMS"]).read_text()), "classes": classes}
    rates = [arguments.lr] if arguments.lr else RATES if settings is None else [settings["learning_rate"]]
    state = {"epoch": 0, "attempt": 0}

    def fresh(attempt):
        torch.manual_seed(arguments.seed + 1000 * attempt)
        network, optimizer = metaqnn(arguments.net, images.shape[1:]) if settings is None else cuda_convnet(settings, images.shape[1:])
        network.to(device)
        return network, optimizer(rates[attempt])

    network, optimizer = fresh(0)
    path = Path(os.environ["FORETELL_CHECKPOINT_DIR"], "network.pt") if "FORETELL_CHECKPOINT_DIR" in os.environ else None
    if path and "FORETELL_RESUME_FROM" in os.environ and path.exists():
        saved = torch.load(path, map_location=device, weights_only=True)
        state = saved["state"]
        network, optimizer = fresh(state["attempt"])
        network.load_state_dict(saved["network"])
        optimizer.load_state_dict(saved["optimizer"])
    base = [group["lr"] for group in fresh(state["attempt"])[1].param_groups]
    for epoch in range(state["epoch"] + 1, int(os.environ.get("FORETELL_UNTIL", arguments.epochs)) + 1):
        for group, rate in zip(optimizer.param_groups, base):
            group["lr"] = rate * factor(arguments, settings, epoch)
        while True:
            order = torch.randperm(len(images), generator=torch.Generator().manual_seed(arguments.seed * 1000 + epoch))
            network.train()
            for batch in order.split(arguments.batch_size):
                optimizer.zero_grad()
                F.cross_entropy(network(images[batch].to(device)), labels[batch].to(device)).backward()
                optimizer.step()
            accuracy, loss = judge(network, judged_images, judged_labels, device)
            # a network that is no better than guessing after its first epoch starts again at a smaller rate
            if epoch > 1 or accuracy > 1.5 / classes or state["attempt"] + 1 == len(rates):
                break
            state["attempt"] += 1
            network, optimizer = fresh(state["attempt"])
            base = [group["lr"] for group in optimizer.param_groups]
        state["epoch"] = epoch
        if path:
            torch.save({"state": state, "network": network.state_dict(), "optimizer": optimizer.state_dict()}, f"{path}.new")
            os.replace(f"{path}.new", path)
        print(json.dumps({"foretell": {"step": epoch, "val_acc": accuracy, "val_loss": loss if math.isfinite(loss) else "nan"}}), flush=True)


def pattern(count, k):
    """The values of `torch_losses.py`, for weights and images."""
    v = 43758.5453 * torch.sin(12.9898 * torch.arange(1, count + 1, dtype=torch.float64) + 78.233 * k)
    return 2 * (v - v.floor()) - 1


def check(file):
    """50 losses of both networks from the weights, images and settings of `torch_losses.py`, beside those in `file`."""
    settings = dict(conv1_l2=0.004, conv2_l2=0.02, conv3_l2=0.003, fc_l2=1.0, lrn_scale=0.05, lrn_power=0.75, classes=10)
    networks = {
        "metaqnn": (*metaqnn("[C(6,3,1), P(2,2), C(8,5,1), P(3,2), FC(12), SM(10)]", (3, 16, 16)), 1.0),
        "cuda-convnet": (*cuda_convnet(settings, (3, 16, 16), width=0.25), 10.0),
    }
    expected = json.loads(Path(file).read_text())
    for name, (network, optimizer, scale) in networks.items():
        made = 0
        for layer in network:
            if hasattr(layer, "weight"):
                count, fan_in = layer.weight.numel(), layer.weight[0].numel()
                values = (math.sqrt(3 / fan_in) * pattern(count, made)).float()
                is_matrix = isinstance(layer, nn.Linear)
                layer.weight.data = values.reshape(layer.weight.shape[::-1]).T.contiguous() if is_matrix else values.reshape(layer.weight.shape)
                made += 1
        optimizer, gap = optimizer(0.001), 0.0
        for step, loss in enumerate(expected[name]):
            images = (scale * pattern(8 * 3 * 16 * 16, 1000 + step % 4)).float().reshape(8, 3, 16, 16)
            found = F.cross_entropy(network(images), (torch.arange(8) * 3 + step % 4) % 10)
            gap = max(gap, abs(found.item() - loss) / loss)
            optimizer.zero_grad()
            found.backward()
            optimizer.step()
        print(json.dumps({"network": name, "parameters": sum(p.numel() for p in network.parameters()), "largest_gap": gap}))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("net", nargs="?", help="a network in layer notation, or cuda-convnet")
    parser.add_argument("--data", help="the folder of CIFAR-10's binary files (default: drawn images)")
    parser.add_argument("--epochs", type=int, default=int(os.environ.get("FORETELL_MAX_RESOURCE", 20)))
    parser.add_argument("--batch-size", type=int, default=128)
    parser.add_argument("--lr", type=float, help="the starting rate (default: that of the space)")
    parser.add_argument("--seed", type=int, default=int(os.environ.get("FORETELL_SEED", 0)))
    parser.add_argument("--device", help="cuda, mps or cpu (default: the first that is there)")
    parser.add_argument("--count", action="store_true", help="print the number of parameters, for CIFAR-10, and end")
    parser.add_argument("--check", metavar="FILE", help="compare with the losses in torch_losses.json, and end")
    arguments = parser.parse_args()
    if arguments.check:
        check(arguments.check)
    elif arguments.count:
        print(sum(parameter.numel() for parameter in metaqnn(arguments.net, (3, 32, 32))[0].parameters()))
    elif arguments.net:
        train(arguments)
    else:
        parser.error("give a network in layer notation, or cuda-convnet")


if __name__ == "__main__":
    main()
