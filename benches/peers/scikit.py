"""The scikit-learn side: the same work on the same arrays, as lean as its interface allows."""

from time import thread_time

import numpy as np
from curves import features
from sklearn.ensemble import RandomForestRegressor
from sklearn.svm import NuSVR

# How long the linear search may take before the rest of it is extrapolated.
LINEAR_SECONDS = 120.0
# How many of the best draws are scored again at a tight tolerance to decide who wins (linear fits take seconds each there).
CONTENDERS = {"rbf": 25, "linear": 2}


def standardise(x, keep):
    mean, sd = x[keep].mean(axis=0), x[keep].std(axis=0)
    return (x - mean) / np.where(sd > 0, sd, np.inf)


def r_squared(forecast, truth):
    return 1 - np.sum((truth - forecast) ** 2) / np.sum((truth - truth.mean()) ** 2)


class Task:
    """One tau: features, targets, folds with their own scaling."""

    def __init__(self, arrays, kernel):
        self.kernel, self.tau, self.draws = kernel, int(arrays["tau"][0]), arrays["draws"]
        self.x = features(arrays["configurations"], arrays["curves"], self.tau)
        self.y = arrays["curves"][:, -1]
        self.tests = features(arrays["test_configurations"], arrays["test_curves"], self.tau)
        self.folds = [self.scaled(arrays["folds"] != fold) for fold in range(arrays["folds"].max() + 1)]

    def scaled(self, keep):
        return standardise(self.x, keep), standardise(self.y, keep), keep

    def model(self, draw, tol=1e-3):
        c, nu, gamma = self.draws[draw]
        return NuSVR(kernel=self.kernel, C=c, nu=nu, gamma=gamma, tol=tol)

    def score(self, draw, tol=1e-3):
        scores = []
        for x, y, keep in self.folds:
            model = self.model(draw, tol).fit(x[keep], y[keep])
            scores.append(r_squared(model.predict(x[~keep]), y[~keep]))
        return np.mean(scores)

    def left_out(self, draw, i, tol=1e-3):
        """The forecast of run i by the model of all others."""
        x, y, keep = self.scaled(np.arange(len(self.y)) != i)
        value = self.model(draw, tol).fit(x[keep], y[keep]).predict(x[i : i + 1])[0]
        return value * self.y[keep].std() + self.y[keep].mean()

    def refit(self, draw, tol=1e-3):
        everyone = np.ones(len(self.y), dtype=bool)
        x, y, _ = self.scaled(everyone)
        return self.model(draw, tol).fit(x, y)


def timed_search(task, draws, budget):
    """Seconds and scores of `draws`, one after the other until the budget is spent."""
    start, scores = thread_time(), {}
    for draw in draws:
        scores[draw] = task.score(draw)
        if thread_time() - start > budget:
            break
    return thread_time() - start, scores


def one_tau(arrays, kernel, ours, quick):
    """Search, refit and leave-one-out at scikit-learn's own tolerance; then the winner at a tight one."""
    task = Task(arrays, kernel)
    order = np.random.default_rng(0).permutation(len(task.draws))
    limit = order[:100] if quick else order
    budget = np.inf if kernel == "rbf" else (LINEAR_SECONDS / 6 if quick else LINEAR_SECONDS)
    seconds, scores = timed_search(task, limit, budget)
    note = "" if len(scores) == len(order) else f"extrapolated from {len(scores)} draws"
    seconds *= len(order) / len(scores)
    start = thread_time()
    task.refit(ours)
    for i in range(len(task.y)):
        task.left_out(ours, i)
    seconds += thread_time() - start
    contenders = sorted(scores, key=scores.get, reverse=True)[: CONTENDERS[kernel]]
    tight = {draw: task.score(draw, 1e-6) for draw in {*map(int, contenders), ours}}
    winner = max(tight, key=tight.get)
    model = task.refit(winner, 1e-6)
    everyone = np.ones(len(task.y), dtype=bool)
    mean, sd = task.x.mean(axis=0), task.x.std(axis=0)
    forecasts = model.predict((task.tests - mean) / sd) * task.y.std() + task.y.mean()
    return {
        "seconds": seconds, "note": note, "index": winner, "score": tight[winner], "forecasts": forecasts,
        "held_out": [task.left_out(winner, i, 1e-6) for i in range(everyone.sum())],
    }


def single_fits(arrays, chosen, quick):
    """Mean seconds of one fit over the sampled draws, n = 67; and of the chosen draw, n = 100."""
    out, notes = {}, []
    for kernel in ["rbf", "linear"]:
        task = Task(arrays, kernel)
        x, y, keep = task.folds[0]
        x, y = x[keep], y[keep]
        sample, spent, done = arrays["sample"], thread_time(), 0
        for draw in sample:
            task.model(draw).fit(x, y)
            done += 1
            if kernel == "linear" and thread_time() - spent > (10 if quick else 40):
                notes.append(f"{done} draws")
                break
        out[kernel] = (thread_time() - spent) / done
    task = Task(arrays, "rbf")
    task.refit(chosen)
    start = thread_time()
    for _ in range(5):
        task.refit(chosen)
    return {**out, "chosen": (thread_time() - start) / 5, "note": ", ".join(notes)}


def forecasting(arrays, chosen):
    """Seconds of one forecast with scaling, and of all decisions with a batch of all trials for each tau."""
    task = Task(arrays, "rbf")
    model = task.refit(chosen)
    mean, sd = task.x.mean(axis=0), task.x.std(axis=0)
    start = thread_time()
    for row in task.tests[:200]:
        model.predict(((row - mean) / sd)[None, :])
    single = (thread_time() - start) / 200
    models = []
    for tau in range(1, arrays["curves"].shape[1]):
        x = features(arrays["configurations"], arrays["curves"], tau)
        center, scale = x.mean(axis=0), x.std(axis=0)
        models.append((center, scale, task.model(chosen).fit((x - center) / scale, standardise(task.y, slice(None)))))
    start = thread_time()
    for tau, (center, scale, model) in enumerate(models, 1):
        x = features(arrays["test_configurations"], arrays["test_curves"], tau)
        model.predict((x - center) / scale)
    return single, thread_time() - start


def forest_search(arrays, quick):
    task = Task(arrays, "rbf")
    draws = arrays["forest_draws"]
    part = draws[:3] if quick else draws[:10]
    start = thread_time()
    for trees, share in part:
        for x, y, keep in task.folds:
            forest = RandomForestRegressor(n_estimators=int(trees), max_features=share, random_state=0, n_jobs=1)
            r_squared(forest.fit(x[keep], y[keep]).predict(x[~keep]), y[~keep])
    seconds = (thread_time() - start) * draws[:, 0].sum() / part[:, 0].sum()
    return {"seconds": seconds, "note": f"{len(part)} of {len(draws)} draws, extrapolated by trees"}


def measure(arrays, winners, quick):
    """Everything `peers.py` compares; `winners` are Foretell's, and are refitted and left one out in the timed part."""
    rbf = one_tau(arrays, "rbf", winners["rbf"], quick)
    linear = one_tau(arrays, "linear", winners["linear"], quick)
    single, decisions = forecasting(arrays, winners["rbf"])
    return {
        "rbf": rbf, "linear": linear, "fit": single_fits(arrays, winners["rbf"], quick),
        "forecast_seconds": single, "decisions_seconds": decisions, "forest": forest_search(arrays, quick),
    }
