#!/usr/bin/env python3
"""MetaQNN's search by Q-learning over its whole schedule of ε, with and without stopping from the same seed, and the best five trained again.

    python3 benches/q_learning.py CIFAR [foretell] [--networks 270] [--seeds 1]

CIFAR is the folder of CIFAR-10's binary files. The networks are small and learn 500 of its images, so that two processors train hundreds of them in half
an hour; `--networks 2700` is the paper's number, which the schedule of ε is scaled from. Stopping is the paper's: ν-SVR, learnt once from the first
networks, and 99 % sure. Both searches run at the same time, a trial each. The same command goes on where it was interrupted: the studies are in
foretell-out/q-learning.
"""

import argparse
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from our_networks import answer

SIZES = ["--width", "0.0625", "--max-layers", "6", "--train-size", "500", "--validation-size", "300"]
SIZES += ["--batch-size", "16", "--epochs", "8", "--initial-value", "0.2"]
# the paper's stages: ε and networks
STAGES = [(1.0, 1500), (0.9, 100), (0.8, 100), (0.7, 100)] + [(tenths / 10, 150) for tenths in range(6, 0, -1)]


def variants(networks):
    """The flags of a search without stopping, and of one that learns from as large a part of the networks as the paper's, but from 30 at least."""
    burn_in = max(30, 100 * networks // 2700)
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
    study = Path(arguments.studies) / f"{arguments.networks}-{variant.replace(' ', '-')}-{seed}"
    command = [arguments.foretell, "search", "--data", f"cifar10:{arguments.cifar}", *SIZES]
    command += ["--sampler", "q-learning", "--trials", str(arguments.networks), "--seed", str(seed)]
    command += ["--workers", "1", "--out", str(study), "--format", "json"]
    found = json.loads(answer([*command, *variants(arguments.networks)[variant]]))
    scores = lasts(arguments, study)
    scores |= {stopped["trial"]: stopped["forecast"]["mean"] for stopped in found["stopped"] if stopped.get("forecast")}
    best = sorted(scores, key=scores.get, reverse=True)[:5]
    return found, scores, [again(arguments, study, trial) for trial in best]


def again(arguments, study, trial):
    """The score of a trial that is trained again for 24 epochs."""
    command = [arguments.foretell, "study", "run", str(study), "--trial", str(trial), "--epochs", "24", "--format", "json"]
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
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--studies", default="foretell-out/q-learning", help="the folder of the studies")
    arguments = parser.parse_args()
    for seed in range(arguments.seeds):
        names = list(variants(arguments.networks))
        with ThreadPoolExecutor(len(names)) as pool:
            results = dict(zip(names, pool.map(lambda variant: search(arguments, variant, seed), names)))
        print(f"seed {seed}\n\n| ε | networks | mean score {' | mean score '.join(results)} |\n|---|---|---|---|")
        for epsilon, numbers in stages(arguments.networks):
            cells = [str(epsilon), str(len(numbers))]
            for _, scores, _ in results.values():
                here = [scores[number] for number in numbers if number in scores]
                cells.append(f"{sum(here) / len(here):.3f}" if here else "–")
            print("| " + " | ".join(cells) + " |")
        print("\n| | epochs | stopped | best | the best five, trained again |\n|---|---|---|---|---|")
        for variant, (found, _, anew) in results.items():
            best = found["best"]
            cells = [variant, found["epochs"]["spent"], found["trials"]["stopped"], f"{best['score']:.3f}" if best else "–"]
            cells.append(", ".join(f"{score:.3f}" for score in sorted(anew, reverse=True)) or "–")
            print("| " + " | ".join(map(str, cells)) + " |", flush=True)


if __name__ == "__main__":
    main()
