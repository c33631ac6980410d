"""Synthetic late bloomers, one file of 200 curves of 40 epochs for each family: `python benches/peers/late_bloomers.py FOLDER`.

slow-best      the slower a run closes in on its end, the higher that end lies
reversal       ranks turn round at 60 % of the training
breakthrough   half of the runs jump at a random epoch to a random height
rare-late      ordinary power laws, and one run of thirty that lies low until 70 % and then wins
"""

import json
import sys
from pathlib import Path

import numpy as np

RUNS, EPOCHS, NOISE = 200, 40, 0.004


def families(seed=5):
    """Scores (runs, epochs) by family; larger is better."""
    random, epoch = np.random.default_rng(seed), np.arange(1, EPOCHS + 1)
    done = epoch / EPOCHS
    step = lambda x: 1 / (1 + np.exp(-x))

    end = 0.5 + 0.4 * random.random(RUNS)
    rate = 0.02 + 0.15 * np.exp(1.2 - 4.5 * (end - 0.5) / 0.4 + 0.3 * random.standard_normal(RUNS))
    slow = end[:, None] - (end - 0.1)[:, None] * np.exp(-rate[:, None] * epoch)
    slow += (end - slow[:, -1])[:, None] * done**2

    quality, turned = random.random(RUNS)[:, None], step(25 * (done - 0.6))
    reversal = ((0.7 - 0.3 * quality) * (1 - turned) + (0.4 + 0.5 * quality) * turned) * (1 - np.exp(-epoch / 6))

    low, when = 0.1 + 0.05 * random.random(RUNS), random.integers(3, EPOCHS - 2, RUNS)
    high = np.where(random.random(RUNS) < 0.5, 0.3 + 0.6 * random.random(RUNS), low)
    breakthrough = low[:, None] + (high - low)[:, None] * step(epoch - when[:, None])

    end, rate = 0.5 + 0.35 * random.random(RUNS), 0.3 + 0.5 * random.random(RUNS)
    rare_late = end[:, None] - (end - 0.1)[:, None] * epoch ** -rate[:, None]
    late = step(30 * (done - 0.7))
    rare_late[random.random(RUNS) < 1 / 30] = 0.35 * (1 - late) + 0.92 * late

    curves = {"slow-best": slow, "reversal": reversal, "breakthrough": breakthrough, "rare-late": rare_late}
    return {name: scores + NOISE * random.standard_normal(scores.shape) for name, scores in curves.items()}


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, scores in families().items():
        with open(folder / f"{name}.jsonl", "w") as file:
            for i, values in enumerate(scores):
                # a constant configuration: nothing but the curve says where a run ends
                row = {"id": str(i), "configuration": {}, "values": [round(float(v), 5) for v in values]}
                file.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
