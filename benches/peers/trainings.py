#!/usr/bin/env python3
"""Trains families of small models for real and writes their learning curves, to see how well they are forecast.

    python3 benches/peers/trainings.py [DIR]        # default: target/trainings; four minutes on two cores

240 configurations are drawn at random for each family. DIR gets eight families of 40 points per curve: networks (scikit-learn's digits,
with label noise, with few images, with schedules of the learning rate; a regression; an autoencoder), gradient boosting, and evolution
strategies on a cart pole. DIR/later gets families that were drawn when the predictors stood but for one thing: the hyperparameters of the
paper's Hyperband experiments in three forms (many of these never learn); if the folder of data exists (FORETELL_DATA, or ../shared/data),
the same on CIFAR-10, long curves, curves whose configuration is two numbers, and models of characters; fine-tunings of a pretrained
network, whose curves cross.
`foretell evaluate DIR/*.csv DIR/later/*.csv` reads them.
"""

import os
import sys
from functools import partial
from multiprocessing import get_context
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
EPOCHS, RUNS = 40, 240


def draw_network(random):
    """A configuration: optimizer, learning rate (half of a decade too large at most), sizes, regularisation."""
    optimizer = str(random.choice(["sgd", "momentum", "adam"]))
    largest = {"sgd": 0.5, "momentum": -0.3, "adam": -1}[optimizer]
    return {
        "opt": optimizer, "lr": 10 ** random.uniform(largest - 3.5, largest + 0.3),
        "width": int(2 ** random.uniform(3, 7.5)), "layers": int(random.integers(1, 4)),
        "act": str(random.choice(["relu", "tanh"])), "dropout": float(random.choice([0, 0.1, 0.3, 0.5])),
        "wd": 10 ** random.uniform(-6, -2), "batch": int(2 ** random.integers(4, 8)),
        "init": 10 ** random.uniform(-1, 0.5),
    }


class Network:
    """A multilayer perceptron with dropout."""

    def __init__(self, random, configuration, inputs, outputs):
        sizes = [inputs] + [configuration["width"]] * configuration["layers"] + [outputs]
        scale = configuration["init"]
        weights = [random.normal(size=(a, b)) * np.sqrt(2.0 / a) * scale for a, b in zip(sizes, sizes[1:])]
        self.layers = len(weights)
        self.parameters = weights + [np.zeros(b) for b in sizes[1:]]
        self.relu, self.dropout, self.random = configuration["act"] == "relu", configuration["dropout"], random

    def forward(self, x, train=False):
        """Activations of every layer, and the dropout masks."""
        hidden, masks = [x], []
        for i in range(self.layers):
            z = hidden[-1] @ self.parameters[i] + self.parameters[self.layers + i]
            if i < self.layers - 1:
                z = np.maximum(z, 0) if self.relu else np.tanh(z)
                mask = None
                if train and self.dropout > 0:
                    mask = (self.random.random(z.shape) > self.dropout) / (1 - self.dropout)
                    z = z * mask
                masks.append(mask)
            hidden.append(z)
        return hidden, masks

    def backward(self, hidden, masks, slope, decay):
        """The gradient of every parameter from that of the outputs; `decay` is one number, or one a layer."""
        gradients = [None] * (2 * self.layers)
        for i in range(self.layers - 1, -1, -1):
            penalty = decay[i] if isinstance(decay, list) else decay
            gradients[i] = hidden[i].T @ slope + penalty * self.parameters[i]
            gradients[self.layers + i] = slope.sum(0)
            if i:
                slope = slope @ self.parameters[i].T
                if masks[i - 1] is not None:
                    slope = slope * masks[i - 1]
                slope = slope * ((hidden[i] > 0) if self.relu else (1 - hidden[i] ** 2))
        return gradients


class Optimizer:
    """Gradient descent, with momentum 0.9, or Adam."""

    def __init__(self, name, parameters):
        self.name, self.steps = name, 0
        self.first, self.second = ([np.zeros_like(p) for p in parameters] for _ in range(2))

    def step(self, parameters, gradients, rate):
        self.steps += 1
        for j, gradient in enumerate(gradients):
            if self.name == "sgd":
                parameters[j] = parameters[j] - rate * gradient
            elif self.name == "momentum":
                self.first[j] = 0.9 * self.first[j] + gradient
                parameters[j] = parameters[j] - rate * self.first[j]
            else:
                self.first[j] = 0.9 * self.first[j] + 0.1 * gradient
                self.second[j] = 0.999 * self.second[j] + 0.001 * gradient**2
                first, second = self.first[j] / (1 - 0.9**self.steps), self.second[j] / (1 - 0.999**self.steps)
                parameters[j] = parameters[j] - rate * first / (np.sqrt(second) + 1e-8)


def outputs_slope(task, z, x, y):
    """The gradient of the loss by the outputs z."""
    if task == "classes":
        p = np.exp(z - z.max(1, keepdims=True))
        p /= p.sum(1, keepdims=True)
        p[np.arange(len(y)), y] -= 1
        return p / len(y)
    return 2 * (z - x) / x.size if task == "inputs" else 2 * (z - y[:, None]) / len(y)


def score(metric, z, x, y):
    if metric == "val_acc":
        return (z.argmax(1) == y).mean() if np.isfinite(z).all() else 0.1
    if metric in ("val_loss", "val_ppl"):
        z = z - z.max(1, keepdims=True)
        loss = (np.log(np.exp(z).sum(1)) - z[np.arange(len(y)), y]).mean()
        return float(np.exp(loss) if metric == "val_ppl" else loss)
    return float(((z - x) ** 2).mean()) if z.shape == x.shape else float(((z[:, 0] - y) ** 2).mean())


def constant(epoch):
    return 1.0


def cosine(epoch):
    return 0.5 * (1 + np.cos(np.pi * epoch / EPOCHS))


def steps(epoch, epochs=EPOCHS):
    return 1.0 if epoch < epochs * 0.5 else 0.1 if epoch < epochs * 0.75 else 0.01


def power(epoch, factor, every):
    """`factor` times less after every `every` epochs."""
    return factor ** (epoch // every)


def train(random, configuration, task, metric, known, held_out, schedule=constant, epochs=EPOCHS, examples=None):
    """The metric on the held-out examples after each epoch, which is so many `examples`, else all."""
    (x, y), (test_x, test_y) = known, held_out
    outputs = {"classes": y.max() + 1, "inputs": x.shape[1], "number": 1}[task]
    network = Network(random, configuration, x.shape[1], outputs)
    optimizer = Optimizer(configuration["opt"], network.parameters)
    batch, scores = configuration["batch"], []
    for epoch in range(epochs):
        rate = configuration["lr"] * schedule(epoch)
        order = random.permutation(len(x))[:examples]
        for start in range(0, len(order), batch):
            rows = order[start : start + batch]
            hidden, masks = network.forward(x[rows], train=True)
            slope = outputs_slope(task, hidden[-1], x[rows], y[rows])
            optimizer.step(network.parameters, network.backward(hidden, masks, slope, configuration["wd"]), rate)
        scores.append(score(metric, network.forward(test_x)[0][-1], test_x, test_y))
    return scores


def with_noise(random, labels, share):
    labels = labels.copy()
    wrong = random.random(len(labels)) < share
    labels[wrong] = random.integers(0, 10, wrong.sum())
    return labels


def balance(random, policy, limit=200):
    """How many steps a linear policy keeps a pole on a cart upright (Barto, Sutton & Anderson 1983)."""
    state = random.uniform(-0.05, 0.05, 4)
    for step in range(limit):
        force = 10.0 if np.dot(policy, np.append(state, 1)) > 0 else -10.0
        x, speed, angle, turn = state
        cos, sin = np.cos(angle), np.sin(angle)
        push = (force + 0.05 * turn * turn * sin) / 1.1
        turned = (9.8 * sin - cos * push) / (0.5 * (4 / 3 - 0.1 * cos * cos / 1.1))
        moved = push - 0.05 * turned * cos / 1.1
        state = np.array([x + 0.02 * speed, speed + 0.02 * moved, angle + 0.02 * turn, turn + 0.02 * turned])
        if abs(state[0]) > 2.4 or abs(state[2]) > 0.21:
            return step + 1
    return limit


def evolve(random):
    """An evolution strategy (Salimans et al. 2017) on the cart pole: mean of three returns after each generation."""
    c = {"lr": 10 ** random.uniform(-2, 0.5), "sigma": 10 ** random.uniform(-1.5, 0.3),
         "pop": int(2 ** random.uniform(2, 5)), "init": 10 ** random.uniform(-2, 0)}
    policy, returns = random.normal(size=5) * c["init"], []
    for _ in range(EPOCHS):
        moves = random.normal(size=(c["pop"], 5))
        found = np.array([balance(random, policy + c["sigma"] * move) for move in moves])
        better = (found - found.mean()) / (found.std() + 1e-8)
        policy = policy + c["lr"] / (c["pop"] * c["sigma"]) * (moves.T @ better)
        returns.append(np.mean([balance(random, policy) for _ in range(3)]))
    return c, returns


def boost(random, seed):
    """Gradient boosting: the error after every other of 80 trees."""
    c = {"lr": 10 ** random.uniform(-2.5, 0.2), "depth": int(random.integers(1, 7)), "subsample": random.uniform(0.2, 1),
         "max_features": random.uniform(0.1, 1), "min_leaf": int(2 ** random.uniform(0, 6))}
    model = GradientBoostingRegressor(
        n_estimators=2 * EPOCHS, learning_rate=c["lr"], max_depth=c["depth"], subsample=c["subsample"],
        max_features=c["max_features"], min_samples_leaf=c["min_leaf"], random_state=seed)
    x, y = NUMBERS
    model.fit(x[:300], y[:300])
    return c, [float(((p - y[700:]) ** 2).mean()) for p in list(model.staged_predict(x[700:]))[1::2]]


def run(name, number):
    """Configuration and curve of run `number` of a set."""
    random = np.random.default_rng([77, number])
    if name == "cartpole":
        return evolve(random)
    if name == "boosting":
        return boost(random, number)
    c = draw_network(random)
    images, digits = DIGITS
    x, y = NUMBERS
    tests = (images[1000:], digits[1000:])
    if name == "digits-acc":
        return c, train(random, c, "classes", "val_acc", (images[:900], digits[:900]), tests)
    if name == "digits-loss":
        return c, train(random, c, "classes", "val_loss", (images[:600], with_noise(random, digits[:600], 0.2)), tests)
    if name == "small-cosine":
        return c, train(random, c, "classes", "val_loss", (images[:200], digits[:200]), tests, cosine)
    if name == "steps-acc":
        known = (images[:600], with_noise(random, digits[:600], 0.3))
        return c, train(random, c, "classes", "val_acc", known, tests, steps)
    if name == "friedman":
        c["lr"] *= 0.3
        return c, train(random, c, "number", "val_mse", (x[:500] - 0.5, y[:500]), (x[700:] - 0.5, y[700:]))
    c["width"] = int(2 ** random.uniform(1, 5))
    return c, train(random, c, "inputs", "val_mse", (images[:600], digits[:600]), (images[1200:], digits[1200:]))


def hyperband(random, data, metric, narrower=1, epochs=EPOCHS):
    """The hyperparameters that Li et al. searched (the cuda-convnet 18 % network), on a multilayer perceptron."""
    def drawn(low, high):
        return float(np.exp(random.uniform(np.log(low), np.log(high))))

    c = {"learning_rate": drawn(5e-5, 5), "learning_rate_reductions": int(random.integers(0, 4))}
    c |= {f"layer{i}_l2": drawn(5e-5 / narrower, 5 / narrower) for i in (1, 2, 3)}
    c["fc_l2"] = drawn(5e-3 / narrower, 500 / narrower)
    penalties = [value for name, value in c.items() if name.endswith("l2")]
    network = {"opt": "momentum", "lr": 0.2 * c["learning_rate"], "width": 32, "layers": 3, "act": "relu",
               "dropout": 0, "wd": penalties, "batch": 50, "init": 1}
    schedule = partial(power, factor=0.1, every=-(-epochs // (c["learning_rate_reductions"] + 1)))
    return c, train(random, network, "classes", metric, *data, schedule, epochs)


def long(random, data):
    """200 points a curve; the learning rate falls in steps of its own."""
    c = {"lr": 10 ** random.uniform(-3.5, -0.5), "step": int(random.integers(40, 200)),
         "gamma": float(random.choice([0.1, 0.3, 0.5])), "wd": 10 ** random.uniform(-6, -2),
         "batch": int(2 ** random.integers(4, 7)), "dropout": float(random.choice([0, 0.25, 0.5]))}
    network = c | {"opt": "momentum", "width": 48, "layers": 2, "act": "relu", "init": 1}
    schedule = partial(power, factor=c["gamma"], every=c["step"])
    return c, train(random, network, "classes", "val_acc", *data, schedule, 200, 8 * c["batch"])


def two_columns(random, data):
    """Only the count of weights and the learning rate are known of a network."""
    width, layers = int(2 ** random.uniform(2, 7)), int(random.integers(1, 6))
    sizes = [data[0][0].shape[1]] + [width] * layers + [10]
    c = {"num_params": sum(a * b for a, b in zip(sizes, sizes[1:])), "lr": 10 ** random.uniform(-3, -0.7)}
    network = {"opt": "momentum", "lr": c["lr"], "width": width, "layers": layers, "act": "relu", "dropout": 0,
               "wd": 1e-4, "batch": 32, "init": 1}
    return c, train(random, network, "classes", "val_acc", *data, partial(steps, epochs=100), 100, 320)


def pretrained(data, width=64):
    """A network of two hidden layers, trained for thirty epochs on the images of the classes 0 to 4, the same for all runs."""
    random = np.random.default_rng(79)
    x, y = data
    x, y = x[y < 5], y[y < 5]
    network = Network(random, {"width": width, "layers": 2, "act": "relu", "dropout": 0, "init": 1}, x.shape[1], 5)
    optimizer = Optimizer("momentum", network.parameters)
    for _ in range(30):
        order = random.permutation(len(x))
        for start in range(0, len(order), 32):
            rows = order[start : start + 32]
            hidden, masks = network.forward(x[rows], train=True)
            slope = outputs_slope("classes", hidden[-1], x[rows], y[rows])
            optimizer.step(network.parameters, network.backward(hidden, masks, slope, 1e-4), 0.02)
    return [p.copy() for p in network.parameters]


def fine_tuned(random, data, start, metric, epochs=20):
    """A network trained on the classes 0 to 4 is tuned to 5 to 9: with few images, a rate that warms up and falls or does not, and
    frozen layers."""
    c = {"opt": str(random.choice(["momentum", "adam"])), "warmup": int(random.integers(0, 6)), "frozen": int(random.integers(0, 3)),
         "decay": str(random.choice(["none", "linear", "cosine"])), "wd": 10 ** random.uniform(-6, -1.5),
         "batch": int(2 ** random.integers(3, 7)), "dropout": float(random.choice([0, 0.1, 0.3])), "examples": int(random.choice([120, 400]))}
    c["lr"] = 10 ** random.uniform(-4, 0) * (0.1 if c["opt"] == "adam" else 1)
    (x, y), (test_x, test_y) = ((images[labels > 4], labels[labels > 4] - 5) for images, labels in data)
    x, y = x[: c["examples"]], y[: c["examples"]]
    network = Network(random, {"width": 64, "layers": 2, "act": "relu", "dropout": c["dropout"], "init": 1}, x.shape[1], 5)
    # all layers except the last are the learned ones
    network.parameters = [p.copy() for p in start]
    last = network.layers - 1
    network.parameters[last] = random.normal(size=start[last].shape) * 0.05
    network.parameters[network.layers + last] = np.zeros(5)
    optimizer, scores = Optimizer(c["opt"], network.parameters), []
    for epoch in range(epochs):
        left = {"none": 1.0, "linear": 1 - epoch / epochs, "cosine": 0.5 * (1 + np.cos(np.pi * epoch / epochs))}[c["decay"]]
        rate = c["lr"] * left * min(1.0, (epoch + 1) / (c["warmup"] + 1))
        order = random.permutation(len(x))
        for at in range(0, len(order), c["batch"]):
            rows = order[at : at + c["batch"]]
            hidden, masks = network.forward(x[rows], train=True)
            gradients = network.backward(hidden, masks, outputs_slope("classes", hidden[-1], x[rows], y[rows]), c["wd"])
            for layer in range(c["frozen"]):
                gradients[layer], gradients[network.layers + layer] = 0 * gradients[layer], 0 * gradients[network.layers + layer]
            optimizer.step(network.parameters, gradients, rate)
        scores.append(score(metric, network.forward(test_x)[0][-1], test_x, test_y))
    return c, scores


def characters(random, text):
    """The next character from those before it."""
    c = {"context": int(random.integers(1, 7)), "hidden": int(2 ** random.uniform(3, 7)),
         "layers": int(random.integers(1, 3)), "lr": 10 ** random.uniform(-2, -0.2),
         "decay": float(random.choice([0.85, 0.95, 1.0])), "dropout": float(random.choice([0, 0.1, 0.3]))}
    network = c | {"opt": "momentum", "width": c["hidden"], "act": "relu", "wd": 0, "batch": 64, "init": 1}
    one_hot, before = np.eye(text.max() + 1, dtype=np.float32), c["context"]
    x = np.concatenate([one_hot[text[i : len(text) - before + i]] for i in range(before)], 1)
    y, cut = text[before:], 60_000
    schedule = partial(power, factor=c["decay"], every=1)
    data = (x[:cut], y[:cut]), (x[cut : cut + 2000], y[cut : cut + 2000])
    return c, train(random, network, "classes", "val_ppl", *data, schedule, EPOCHS, 1600)


def small_cifar(folder):
    """3000 of the images at 8 × 8: (known, held out)."""
    rows = np.fromfile(folder / "data_batch_1.bin", np.uint8).reshape(-1, 3073)[:3000]
    x = rows[:, 1:].reshape(-1, 3, 8, 4, 8, 4).mean((3, 5)).reshape(-1, 192) / 255
    x, y = x - x.mean(0), rows[:, 0].astype(int)
    return (x[:1800], y[:1800]), (x[2000:], y[2000:])


def later_families():
    """Name → (metric, function that draws and trains a run)."""
    images, digits = DIGITS
    known = (images[:700], digits[:700]), (images[1000:], digits[1000:])
    families = {
        "hyperband-acc": ("val_acc", partial(hyperband, data=known, metric="val_acc")),
        "hyperband-narrow": ("val_acc", partial(hyperband, data=known, metric="val_acc", narrower=100)),
        "hyperband-loss": ("val_loss", partial(hyperband, data=known, metric="val_loss", narrower=100)),
    }
    learnt = pretrained(known[0])
    families |= {f"finetune-digits-{kind}": (f"val_{kind}", partial(fine_tuned, data=known, start=learnt, metric=f"val_{kind}"))
                 for kind in ("acc", "loss")}
    data = Path(os.environ.get("FORETELL_DATA", ROOT.parent / "shared/data")) / "train"
    if not data.is_dir():
        print(f"there is no {data}: no sets of CIFAR-10 and of characters; set FORETELL_DATA")
        return families
    cifar = small_cifar(data / "cifar10-subset")
    of_cifar = pretrained(cifar[0])
    text = (data / "tiny-shakespeare/input.txt").read_text()[:70_000]
    text = np.unique(list(text), return_inverse=True)[1]
    return families | {
        "cifar-hyperband": ("val_acc", partial(hyperband, data=cifar, metric="val_acc", narrower=100, epochs=30)),
        "cifar-long": ("val_acc", partial(long, data=cifar)),
        "cifar-two-columns": ("val_acc", partial(two_columns, data=cifar)),
        "characters": ("val_ppl", partial(characters, text=text)),
    } | {f"finetune-cifar-{kind}": (f"val_{kind}", partial(fine_tuned, data=cifar, start=of_cifar, metric=f"val_{kind}"))
         for kind in ("acc", "loss")}


def later_run(name, number):
    return LATER[name][1](np.random.default_rng([78, number]))


SETS = {"digits-acc": "val_acc", "digits-loss": "val_loss", "small-cosine": "val_loss", "steps-acc": "val_acc",
        "friedman": "val_mse", "autoencoder": "val_mse", "boosting": "val_mse", "cartpole": "reward"}


def text(value):
    return f"{value:.5g}" if isinstance(value, float) else str(value)


def write(pool, folder, name, metric, train_one):
    runs = pool.starmap(train_one, [(name, number) for number in range(RUNS)], chunksize=4)
    header = list(runs[0][0]) + [f"{metric}_{epoch}" for epoch in range(1, len(runs[0][1]) + 1)]
    lines = [",".join(map(text, [*c.values(), *map(float, curve)])) for c, curve in runs]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.csv").write_text("\n".join([",".join(header), *lines, ""]))
    print(folder / f"{name}.csv", flush=True)


def main():
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "target/trainings"
    # a fork shares the data that were loaded below
    with get_context("fork").Pool(min(2, os.cpu_count() or 1)) as pool:
        for name, metric in SETS.items():
            write(pool, folder, name, metric, run)
        for name, (metric, _) in LATER.items():
            write(pool, folder / "later", name, metric, later_run)


if __name__ == "__main__":
    if "PEERS_INSIDE" not in os.environ:
        from peers import enter_environment

        enter_environment(__file__)
    import numpy as np
    from sklearn.datasets import load_digits, make_friedman1
    from sklearn.ensemble import GradientBoostingRegressor

    np.seterr(all="ignore")
    shuffled = np.random.default_rng(0).permutation(1797)
    DIGITS = load_digits().data[shuffled] / 16 - 0.3, load_digits().target[shuffled]
    NUMBERS = make_friedman1(1200, 10, noise=1.0, random_state=0)
    NUMBERS = NUMBERS[0], (NUMBERS[1] - NUMBERS[1].mean()) / NUMBERS[1].std()
    LATER = later_families()
    main()
