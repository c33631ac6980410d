#!/usr/bin/env python3
"""MetaQNN's search by Q-learning over its whole schedule of ε, with and without stopping from the same seed, and the best five trained again.

    python3 benches/q_learning.py CIFAR [foretell] [--networks 270] [--epochs 8] [--images 500] [--again 24] [--seeds 1]

CIFAR is the folder of CIFAR-10's binary files. By default, the networks are small and learn 500 images, so that two processors train hundreds of them in
half an hour. The largest size for a day of two processors is `--networks 540 --epochs 20 --images 1000 --again 60 --seeds 3`, about 16 hours.
The schedule of ε is that of the paper for 2700 networks, scaled. Stopping is the paper's: ν-SVR, fitted once on the first networks, and 99 % sure.
Both searches run at the same time, one trial each. After an interruption, the same command continues: the studies are in
foretell-out/q-learning.
"""

import argparse
import json
import statistics
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from our_networks import answer, keep

SIZES = ["--width", "0.0625", "--max-layers", "6", "--validation-size", "300", "--batch-size", "16", "--initial-value", "0.2"]
# the paper's stages: ε and networks
STAGES = [(1.0, 1500), (0.9, 100), (0.8, 100), (0.7, 100)] + [(tenths / 10, 150) for tenths in range(6, 0, -1)]


def variants(networks):
    """The flags of a search without stopping, and of one that learns from as large a part of the networks as the paper's: at least 30, or half of them."""
    burn_in = max(min(30, networks // 2), 100 * networks // 2700)
    stopping = ["--paper", "--stop-probability", "0.99", "--burn-in", str(burn_in)]
    return {"without stopping": ["--no-stopping"], "with stopping": stopping}


def stages(networks):
    """(ε, its networks' numbers), the paper's stages scaled to `networks`."""
    ends, passed = [], 0
    for epsilon, count in STAGES:
        passed += count
        ends.append((epsilon, round(passed * networks / 2700)))
    starts = [0] + [end for _, end in ends]
    return [(epsilon, range(start, end)) for start, (epsilon, end) in zip(starts, ends)]


def search(arguments, variant, seed):
    """The result of a search; the score of each network (the forecast of a stopped one); the scores of the best five, trained again for longer."""
    size = f"{arguments.networks}-{arguments.epochs}-{arguments.images}"
    study = Path(arguments.studies) / f"{size}-{variant.replace(' ', '-')}-{seed}"
    command = [arguments.foretell, "search", "--data", f"cifar10:{arguments.cifar}", *SIZES]
    command += ["--epochs", str(arguments.epochs), "--train-size", str(arguments.images)]
    command += ["--sampler", "q-learning", "--trials", str(arguments.networks), "--seed", str(seed)]
    command += ["--workers", "1", "--out", str(study), "--format", "json"]
    found = json.loads(answer([*command, *variants(arguments.networks)[variant]]))
    scores = lasts(arguments, study)
    scores |= {stopped["trial"]: stopped["forecast"]["mean"] for stopped in found["stopped"] if stopped.get("forecast")}
    best = sorted(scores, key=scores.get, reverse=True)[:5]
    return found, scores, [again(arguments, study, trial) for trial in best]


def again(arguments, study, trial):
    """The score of a trial that is trained again for longer."""
    command = [arguments.foretell, "study", "run", str(study), "--trial", str(trial), "--epochs", str(arguments.again), "--format", "json"]
    return json.loads(answer(command))["mean"]


def lasts(arguments, study):
    """The last value of each trial."""
    runs = map(json.loads, answer([arguments.foretell, "study", "export", str(study)]).splitlines())
    values = {int(run["id"]): [value for value in run["values"] if value is not None] for run in runs}
    return {trial: value[-1] for trial, value in values.items() if value}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cifar", help="the folder of CIFAR-10's binary files")
    parser.add_argument("foretell", nargs="?", default="target/release/foretell")
    parser.add_argument("--networks", type=int, default=270)
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--images", type=int, default=500, help="images to learn from")
    parser.add_argument("--again", type=int, default=24, help="epochs of the best five, trained again")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--studies", default="foretell-out/q-learning", help="the folder of the studies")
    parser.add_argument("--keep", help="a file to add the speed-up to")
    arguments = parser.parse_args()
    speedups = []
    means = {variant: {epsilon: [] for epsilon, _ in STAGES} for variant in variants(arguments.networks)}
    for seed in range(arguments.seeds):
        with ThreadPoolExecutor(len(means)) as pool:
            results = dict(zip(means, pool.map(lambda variant: search(arguments, variant, seed), means)))
        for variant, (_, scores, _) in results.items():
            for epsilon, numbers in stages(arguments.networks):
                here = [scores[number] for number in numbers if number in scores]
                means[variant][epsilon] += [(statistics.mean(here), error(here))] if here else []
        print(f"seed {seed}\n\n| | epochs | stopped | best | the best five, trained again |\n|---|---|---|---|---|")
        for variant, (found, _, again) in results.items():
            best = found["best"]
            cells = [variant, found["epochs"]["spent"], found["trials"]["stopped"], f"{best['score']:.3f}" if best else "–"]
            cells.append(", ".join(f"{score:.3f}" for score in sorted(again, reverse=True)) or "–")
            print("| " + " | ".join(map(str, cells)) + " |", flush=True)
        plain, stopping = (results[variant][0]["epochs"]["spent"] for variant in means)
        speedups.append(plain / stopping)
        between = error(speedups)
        print(f"\nspeed-up {statistics.mean(speedups):.2f}" + (f" ± {between:.2f}" if between is not None else ""))
        print(f"\nseeds 0 to {seed}\n\n| ε | networks | mean score {' | mean score '.join(means)} |\n|---|---|---|---|")
        for epsilon, numbers in stages(arguments.networks):
            cells = [str(epsilon), str(len(numbers)), *(pooled(means[variant][epsilon]) for variant in means)]
            print("| " + " | ".join(cells) + " |", flush=True)
        print()
    keep(arguments.keep, [("q-learning speed-up", statistics.mean(speedups), error(speedups), arguments.networks, len(speedups), len(speedups))])


def error(values):
    """The standard error of the mean; none of one value."""
    return statistics.stdev(values) / len(values) ** 0.5 if len(values) > 1 else None


def pooled(means):
    """The mean of the seeds' means with its standard error, which is that between networks where there is a single seed."""
    if not means:
        return "–"
    spread = error([mean for mean, _ in means]) if len(means) > 1 else means[0][1]
    return f"{statistics.mean(mean for mean, _ in means):.3f}" + (f" ± {spread:.3f}" if spread is not None else "")


if __name__ == "__main__":
    main()
