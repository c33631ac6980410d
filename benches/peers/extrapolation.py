#!/usr/bin/env python3
"""Times Foretell's LCE and LC-Net against a plain emcee/SciPy LCE and a NumPy LC-Net, in turn, and prints the ratios.

    python3 benches/peers/extrapolation.py [--curves N] [--quick]

Makes its own virtual environment (numpy, scipy, emcee; `$PEERS_VENV` to put it elsewhere), builds the Rust side, draws synthetic curves
from a seed and runs both sides on them, one thread each; times are CPU seconds. LCE: eleven families, 15 points of 60, 100 walkers,
2500 steps, the settings of Domhan et al. 2015. LC-Net: 100 curves of 60 epochs, 64 units, batch 20, 13000 steps of SGHMC; the NumPy
side is timed on the first tenth of the steps and multiplied.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent
THREADS = ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS"]
PACKAGES = ["numpy>=2", "scipy>=1.11", "emcee>=3.1"]


def enter_environment():
    """Runs this script again inside its own virtual environment, one thread a process."""
    home = Path(os.environ.get("PEERS_VENV", HERE / ".venv"))
    python = home / "bin" / "python"
    if not python.exists():
        venv.create(home, with_pip=True)
    if subprocess.run([python, "-c", "import numpy, scipy, emcee"], capture_output=True).returncode:
        subprocess.run([python, "-m", "pip", "install", "--quiet", *PACKAGES], check=True)
    environment = {**os.environ, "EXTRAPOLATION_INSIDE": "1", **{name: "1" for name in THREADS}}
    os.execve(python, [str(python), __file__, *sys.argv[1:]], environment)


def build():
    """The release binary of the Rust side, `extrapolation` of the crate here."""
    command = ["cargo", "build", "--release", "--bin", "extrapolation", "--message-format=json"]
    command += ["--manifest-path", str(HERE / "Cargo.toml")]
    lines = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
    return [message["executable"] for message in map(json.loads, lines) if message.get("executable")][-1]


def draw_curves(count, epochs, seed):
    """(count, 2) configurations and (count, epochs) accuracies: saturating curves whose level and speed the first two say."""
    import numpy as np

    random = np.random.default_rng(seed)
    configurations = random.uniform(0, 1, (count, 2))
    level, speed = 0.4 + 0.5 * configurations[:, :1], 0.03 + 0.2 * configurations[:, 1:]
    steps = np.arange(1, epochs + 1)
    curves = level * (1 - np.exp(-speed * steps)) + 0.005 * random.standard_normal((count, epochs))
    return configurations, np.clip(curves, 0, 1)


def families():
    """(name, function of x and parameters, published start) of the eleven families."""
    from numpy import exp, log

    return [
        ("vapor pressure", lambda x, a, b, c: exp(a + b / x + c * log(x)), [-0.622028, -0.470050, 0.042322]),
        ("pow3", lambda x, c, a, alpha: c - a * x**-alpha, [0.84, 0.52, 0.01]),
        ("log-log linear", lambda x, a, b: log(a * log(x) + b), [1.0, 1.0]),
        ("Hill3", lambda x, t, e, k: t * x**e / (k**e + x**e), [0.772320, 0.586449, 2.460843]),
        ("log power", lambda x, a, b, c: a / (1 + (x / exp(b)) ** c), [0.77, 2.98, -0.51]),
        ("pow4", lambda x, c, a, b, alpha: c - (a * x + b) ** -alpha, [0.8, 200.0, 0.0, 0.1]),
        ("MMF", lambda x, a, b, k, d: a - (a - b) / (1 + (k * x) ** d), [0.7, 0.1, 0.01, 5.0]),
        ("exp4", lambda x, c, a, b, alpha: c - exp(-a * x**alpha + b), [0.7, 0.8, -0.8, 0.3]),
        ("Janoschek", lambda x, a, b, k, d: a - (a - b) * exp(-k * x**d), [0.73, 0.07, 0.355, 0.46]),
        ("Weibull", lambda x, a, b, k, d: a - (a - b) * exp(-((k * x) ** d)), [0.7, 0.1, 0.01, 1.0]),
        ("ilog2", lambda x, c, a: c - a / log(1 + x), [0.78, 0.43]),
    ]


def fit_families(x, y, weights, horizon):
    """The families whose weighted least-squares fit converges and ends believably, with their parameters."""
    import numpy as np
    from scipy.optimize import least_squares

    kept = []
    for _, function, start in families():
        def residuals(parameters, function=function):
            return np.nan_to_num(np.sqrt(weights) * (y - function(x, *parameters)), nan=1e6, posinf=1e6, neginf=-1e6)
        with np.errstate(all="ignore"):
            found = least_squares(residuals, start, method="lm", max_nfev=2000)
        if found.status <= 0:
            continue
        with np.errstate(all="ignore"):
            late, early = (function(np.array([at]), *found.x)[0] for at in (horizon, 2.0))
        if np.isfinite(late) and 0 <= late <= 100 and early <= late:
            kept.append((function, found.x))
    return kept


def extrapolate(y, horizon, walkers, steps, burn_in, seed):
    """Domhan et al.'s posterior mean of the score at `horizon`, by emcee."""
    import emcee
    import numpy as np

    x = np.arange(1, len(y) + 1, dtype=float)
    weights = 10 ** (np.arange(len(y)) / len(y))
    kept = fit_families(x, y, weights, horizon)
    ends = np.cumsum([0] + [len(p) for _, p in kept])
    points = np.append(x, [2.0, horizon])

    def log_density(theta):
        sigma, w = theta[ends[-1]], theta[ends[-1] + 1:]
        if sigma <= 0 or np.any(w < 0):
            return -np.inf, 0.0
        combined = 0.0
        for k, (function, _) in enumerate(kept):
            values = function(points, *theta[ends[k]:ends[k + 1]])
            if not (0 <= values[-1] <= 100 and values[-2] <= values[-1]):
                return -np.inf, 0.0
            combined = combined + w[k] * values
        combined = combined / w.sum()
        terms = -0.5 * ((y - combined[:-2]) / sigma) ** 2 - np.log(sigma)
        density = np.dot(weights, terms)
        return (density, combined[-1]) if np.isfinite(density) else (-np.inf, 0.0)

    best = np.concatenate([p for _, p in kept])
    mean = np.mean([function(x, *p) for function, p in kept], axis=0)
    start = np.concatenate([best, [max(np.std(y - mean), 1e-5)], np.full(len(kept), 10.0)])
    random = np.random.default_rng(seed)
    first = start + 1e-6 * random.standard_normal((max(walkers, 2 * len(start)), len(start)))
    with np.errstate(all="ignore"):
        sampler = emcee.EnsembleSampler(len(first), len(start), log_density)
        sampler.run_mcmc(first, steps)
    return float(np.mean(sampler.get_blobs(discard=burn_in)))


def lc_net(configurations, curves, steps, seed):
    """CPU seconds of `steps` steps of scale-adapted SGHMC on LC-Net, in NumPy."""
    import numpy as np

    random = np.random.default_rng(seed)
    runs, epochs = curves.shape
    standard = (configurations - configurations.mean(0)) / configurations.std(0)
    x = np.repeat(standard, epochs, axis=0)
    t = np.tile(np.arange(1, epochs + 1) / epochs, runs)
    y = curves.ravel()
    sizes = [x.shape[1], 64, 64, 64, 20]
    shapes = [s for a, b in zip(sizes, sizes[1:]) for s in ((a, b), (b,))]
    ends = np.cumsum([0] + [int(np.prod(s)) for s in shapes])
    theta = 0.1 * random.standard_normal(ends[-1])
    tau, g, v, p = (np.ones(ends[-1]) for _ in range(4))
    p[:] = 0

    def gradient(rows):
        views = [theta[a:b].reshape(s) for a, b, s in zip(ends, ends[1:], shapes)]
        hidden = [x[rows]]
        for layer in range(3):
            hidden.append(np.tanh(hidden[-1] @ views[2 * layer] + views[2 * layer + 1]))
        out = hidden[-1] @ views[6] + views[7]
        slope = head_slopes(out, t[rows], y[rows], len(y))
        found = np.empty_like(theta)
        for layer in (3, 2, 1, 0):
            found[ends[2 * layer]:ends[2 * layer + 1]] = (hidden[layer].T @ slope).ravel()
            found[ends[2 * layer + 1]:ends[2 * layer + 2]] = slope.sum(0)
            slope = (slope @ views[2 * layer].T) * (1 - hidden[layer] ** 2)
        return found + theta / (len(y) * len(theta))

    began = time.process_time()
    for _ in range(steps):
        found = gradient(random.integers(0, len(y), 20))
        rate = 1 / (tau + 1)
        tau = 1 + tau * (1 - g * g / (v + 1e-16))
        g += rate * (found - g)
        v += rate * (found * found - v)
        inverse = 1 / (np.sqrt(v) + 1e-16)
        p += -1e-4 * inverse * found - 0.05 * p + random.standard_normal(len(p)) * np.sqrt(1e-5 / len(y) * inverse)
        theta += p
    return time.process_time() - began


def head_slopes(out, t, y, rows):
    """The derivatives of LC-Net's loss by the outputs of its head, shape (batch, 20)."""
    import numpy as np

    sigmoid = lambda z: 1 / (1 + np.exp(-z))
    a, noise, infinity = sigmoid(out[:, :13]), sigmoid(out[:, 19]), sigmoid(out[:, 18])
    weights = np.exp(out[:, 13:18] - out[:, 13:18].max(1, keepdims=True))
    weights /= weights.sum(1, keepdims=True)
    bases, slopes = basis(a.T, t)
    mixture = (weights * bases).sum(1)
    log_variance = 20 * noise - 10
    variance = np.exp(log_variance) + 1e-16
    residual = y - infinity - mixture
    by_mean = -residual / variance / len(y)
    by_noise = (0.5 - 0.5 * residual**2 / variance + (log_variance + 13.8155) / (0.01 * rows)) / len(y)
    of_basis = np.repeat(np.arange(5), [3, 2, 3, 2, 3])
    slope = np.empty_like(out)
    slope[:, :13] = by_mean[:, None] * weights[:, of_basis] * slopes * a * (1 - a)
    slope[:, 13:18] = by_mean[:, None] * weights * (bases - mixture[:, None])
    slope[:, 18] = by_mean * infinity * (1 - infinity)
    slope[:, 19] = by_noise * 20 * noise * (1 - noise)
    return slope


def basis(a, t):
    """The five basis functions, shape (batch, 5), and their derivatives by the 13 parameters, (batch, 13)."""
    import numpy as np

    log = np.log(t)
    sigmoid = lambda z: 1 / (1 + np.exp(-z))
    now, end = np.exp(-a[0] - a[1] / 10 / t - a[2] / 10 * log), np.exp(-a[0] - a[1] / 10)
    raised = t ** a[4]
    b = a[6] / 10
    s0, s1 = sigmoid(b * a[7]), sigmoid(a[7] * (b - log))
    e0, e1 = np.exp(-10 * a[9]), np.exp(-10 * a[9] * t)
    q = a[12] ** a[11]
    h0, h1 = 1 / (q + 1), 1 / (q * t ** -a[11] + 1)
    d0, d1, k0, k1 = s0 * (1 - s0), s1 * (1 - s1), h0 * (1 - h0), h1 * (1 - h1)
    values = [now - end, a[3] * (raised - 1), 2 * a[5] * (s0 - s1), a[8] * (e0 - e1), a[10] * (h1 - h0)]
    slopes = [
        end - now, (end - now / t) / 10, -now * log / 10, raised - 1, a[3] * raised * log,
        2 * (s0 - s1), 2 * a[5] * (d0 - d1) * a[7] / 10, 2 * a[5] * (d0 * b - d1 * (b - log)),
        e0 - e1, 10 * a[8] * (t * e1 - e0),
        h1 - h0, a[10] * (k0 * np.log(a[12]) - k1 * (np.log(a[12]) - log)), a[10] * (k0 - k1) * a[11] / a[12],
    ]
    return np.array(values).T, np.array(slopes).T


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--curves", type=int, default=3, help="curves that LCE extrapolates")
    parser.add_argument("--quick", action="store_true", help="a fifth of the steps on the Python side, multiplied")
    arguments = parser.parse_args()
    import numpy as np

    binary = build()
    configurations, curves = draw_curves(120, 60, 0)
    with tempfile.TemporaryDirectory() as folder:
        np.savetxt(Path(folder) / "curves.csv", curves, delimiter=",")
        np.savetxt(Path(folder) / "configurations.csv", configurations, delimiter=",")
        ours = json.loads(subprocess.run([binary, folder], check=True, stdout=subprocess.PIPE).stdout)
    part = 5 if arguments.quick else 1
    tested, began, ends = curves[100:100 + arguments.curves], time.process_time(), []
    for curve in tested:
        ends.append(extrapolate(curve[:15], 60, 100, 2500 // part, 500 // part, 1))
    theirs = (time.process_time() - began) * part / len(tested)
    net_part = 10 * part
    net = lc_net(configurations[:100], curves[:100], 13000 // net_part, 0) * net_part
    rows = [
        ("LCE, settings of 2015, one curve", theirs, ours["lce_domhan2015_seconds"]),
        ("LCE, default settings against emcee's", theirs, ours["lce_seconds"]),
        ("LC-Net, 100 curves x 60 epochs, 13000 steps", net, ours["bnn_fit_seconds"]),
    ]
    for name, peer, own in rows:
        print(f"{name:48} Python {peer:9.3f} s   Foretell {own:9.4f} s   ratio {peer / own:7.1f}")
    print(f"{'LC-Net, one forecast (100 samples)':48} Foretell {1e6 * ours['bnn_forecast_seconds']:9.1f} µs, "
          f"on a partial curve {1e6 * ours['bnn_conditioned_seconds']:.1f} µs")
    pairs = zip(ends, ours["lce_domhan2015_means"], ours["lce_means"], tested[:, -1])
    for theirs, literal, default, truth in pairs:
        print(f"end: emcee {theirs:.4f}, Foretell {literal:.4f} (2015) and {default:.4f} (default), truth {truth:.4f}")


if __name__ == "__main__":
    main() if os.environ.get("EXTRAPOLATION_INSIDE") else enter_environment()
