#!/usr/bin/env python3
"""Trains eight families of small models for real and writes their learning curves, to see how well they are forecast.

    python3 benches/peers/trainings.py [DIR]        # default: target/trainings; two minutes on two cores

240 configurations drawn at random for each, 40 points a curve: networks (scikit-learn's digits, with label noise, with few
images, with schedules of the learning rate; a regression; an autoencoder), gradient boosting, evolution strategies on a cart
pole. Some learn, some do not, some diverge. `foretell evaluate DIR/*.csv` reads them.
"""

import os
import sys
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
        """The gradient of every parameter from that of the outputs."""
        gradients = [None] * (2 * self.layers)
        for i in range(self.layers - 1, -1, -1):
            gradients[i] = hidden[i].T @ slope + decay * self.parameters[i]
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
    if metric == "val_loss":
        z = z - z.max(1, keepdims=True)
        return float((np.log(np.exp(z).sum(1)) - z[np.arange(len(y)), y]).mean())
    return float(((z - x) ** 2).mean()) if z.shape == x.shape else float(((z[:, 0] - y) ** 2).mean())


SCHEDULES = {
    "constant": lambda epoch: 1.0,
    "cosine": lambda epoch: 0.5 * (1 + np.cos(np.pi * epoch / EPOCHS)),
    "steps": lambda epoch: 1.0 if epoch < EPOCHS * 0.5 else 0.1 if epoch < EPOCHS * 0.75 else 0.01,
}


def train(random, configuration, task, metric, known, held_out, schedule="constant"):
    """The metric on the held-out examples after each epoch."""
    (x, y), (test_x, test_y) = known, held_out
    outputs = {"classes": 10, "inputs": x.shape[1], "number": 1}[task]
    network = Network(random, configuration, x.shape[1], outputs)
    optimizer = Optimizer(configuration["opt"], network.parameters)
    batch, scores = configuration["batch"], []
    for epoch in range(EPOCHS):
        rate = configuration["lr"] * SCHEDULES[schedule](epoch)
        order = random.permutation(len(x))
        for start in range(0, len(x), batch):
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
        return c, train(random, c, "classes", "val_loss", (images[:200], digits[:200]), tests, "cosine")
    if name == "steps-acc":
        known = (images[:600], with_noise(random, digits[:600], 0.3))
        return c, train(random, c, "classes", "val_acc", known, tests, "steps")
    if name == "friedman":
        c["lr"] *= 0.3
        return c, train(random, c, "number", "val_mse", (x[:500] - 0.5, y[:500]), (x[700:] - 0.5, y[700:]))
    c["width"] = int(2 ** random.uniform(1, 5))
    return c, train(random, c, "inputs", "val_mse", (images[:600], digits[:600]), (images[1200:], digits[1200:]))


SETS = {"digits-acc": "val_acc", "digits-loss": "val_loss", "small-cosine": "val_loss", "steps-acc": "val_acc",
        "friedman": "val_mse", "autoencoder": "val_mse", "boosting": "val_mse", "cartpole": "reward"}


def text(value):
    return f"{value:.5g}" if isinstance(value, float) else str(value)


def main():
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "target/trainings"
    folder.mkdir(parents=True, exist_ok=True)
    # a fork shares the data that were loaded below
    with get_context("fork").Pool(min(2, os.cpu_count() or 1)) as pool:
        for name, metric in SETS.items():
            runs = pool.starmap(run, [(name, number) for number in range(RUNS)], chunksize=4)
            header = list(runs[0][0]) + [f"{metric}_{epoch}" for epoch in range(1, EPOCHS + 1)]
            lines = [",".join(map(text, [*c.values(), *map(float, curve)])) for c, curve in runs]
            (folder / f"{name}.csv").write_text("\n".join([",".join(header), *lines, ""]))
            print(folder / f"{name}.csv", flush=True)


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
    main()
