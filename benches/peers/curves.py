"""Synthetic learning curves in the setting of the benchmark: power laws whose shape depends on eight configuration values."""

import numpy as np

CONFIGURATION = 8


def draw_curves(runs, epochs, seed):
    """Configurations (runs, 8) and accuracies (runs, epochs): y_t = end - gap * t^-rate + noise, clipped to [0, 1]."""
    random = np.random.default_rng(seed)
    configuration = random.standard_normal((runs, CONFIGURATION))
    z = configuration
    end = 0.75 + 0.06 * np.tanh(z[:, 0]) + 0.05 * np.sin(1.5 * z[:, 1]) + 0.03 * z[:, 2] * z[:, 3]
    end = end + 0.03 * random.standard_normal(runs)
    rate = 0.5 * np.exp(0.3 * z[:, 4] + 0.2 * random.standard_normal(runs))
    gap = 0.45 + 0.1 * np.tanh(z[:, 5]) + 0.05 * random.standard_normal(runs)
    epoch = np.arange(1, epochs + 1)
    clean = end[:, None] - gap[:, None] * epoch[None, :] ** -rate[:, None]
    jitter = 0.008 * np.exp(0.3 * z[:, 6])[:, None] * random.standard_normal((runs, epochs))
    return configuration, np.clip(clean + jitter, 0.0, 1.0)


def features(configuration, curves, tau):
    """The paper's features after tau epochs: values, first and second differences, configuration."""
    prefix = curves[:, :tau]
    return np.hstack([prefix, np.diff(prefix, axis=1), np.diff(prefix, n=2, axis=1), configuration])


def draw_search(draws, runs, folds, seed):
    """(C, nu, gamma) of each draw, and the fold of each run."""
    random = np.random.default_rng(seed)
    log_uniform = lambda: np.exp(random.uniform(np.log(1e-5), np.log(10.0), draws))
    parameters = np.column_stack([log_uniform(), random.uniform(1e-6, 1.0, draws), log_uniform()])
    fold = np.empty(runs, dtype=int)
    fold[random.permutation(runs)] = np.arange(runs) * folds // runs
    return parameters, fold
