#!/usr/bin/env python3
"""Prints the table of docs/research/several-objectives.md, in Markdown.

    python3 benches/several_objectives.py [SET...]

Replays every recorded set whose cost is known before training, at 40 and 100 runs and whole: those of $FORETELL_DATA/curves (or
../shared/data/curves) and of benches/curves. SETs are the names of those to replay (default: all). It runs target/release/foretell
(`cargo build --release`), or the program $FORETELL. Takes a few minutes of one core.
"""

import json
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = pathlib.Path(os.environ.get("FORETELL", HERE / "target/release/foretell"))
DATA = pathlib.Path(os.environ.get("FORETELL_DATA", HERE / "../shared/data")) / "curves"
# file or folder, the cost, its meaning
SETS = {
    "metaqnn_cifar10": (DATA / "paper/metaqnn_cifar10.csv", "num_params", "weights"),
    "naap440_cnn_cifar10": (DATA / "others/naap440_cnn_cifar10", "NumParams", "weights"),
    "lstm_ptb": (DATA / "paper/lstm_ptb.csv", "n_layer*n_inputs^2", "layers · inputs²"),
    "deep_resnets_tinyimagenet": (
        DATA / "paper/deep_resnets_tinyimagenet.csv",
        "num_blocks*num_filters^2*filter_size^2",
        "blocks · filters² · size²",
    ),
    "nmt_ted-ru-en": (
        DATA / "others/nmt_ted-ru-en",
        "num_layers*model_size*(model_size+ff_num_hidden)",
        "layers · size · (size + hidden)",
    ),
    "cifar10-random": (HERE / "benches/curves/cifar10-random.jsonl.gz", "weights", "weights"),
}
# runs of a study, and in how many orders they are drawn
SIZES = {"40": 12, "100": 8, "whole": 4}
RULES = {"asha": "MO-ASHA", "oracle": "foresight"}
CAUTIONS = {"safe": "`--caution safe`", "balanced": "default", "fast": "`--caution fast`"}


def replayed(path, cost, size, scheduler=None):
    """Rows of `foretell replay`; none where the set has too few runs."""
    command = [PROGRAM, "replay", path, "--objective", f"{cost}:min", "--orderings", SIZES[size], "--format", "json"]
    if scheduler:
        command += ["--scheduler", scheduler, "--policy", "none"]
    else:
        command += ["--policy", "srm,asha,oracle", "--predictor", "mean-gain", "--burn-in", 3]
    if size != "whole":
        command += ["--study-size", size]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{path.name}: {done.stderr.strip()}")
    rows = json.loads(done.stdout)["rows"]
    return rows if size == "whole" or rows[0]["runs"] == int(size) else []


def named(rows):
    """The rows that the table has, with their names."""
    by_caution = {row["caution"]: row for row in rows if row.get("caution")}
    yield from ((name, by_caution[caution]) for caution, name in CAUTIONS.items() if caution in by_caution)
    for policy, name in RULES.items():
        yield from [(name, row) for row in rows if row["policy"] == policy][:1]


def main():
    chosen = sys.argv[1:] or list(SETS)
    print("| runs | set, cost | rule | less training | front kept | hypervolume kept | front kept at random |")
    print("|---|---|---|---|---|---|---|")
    for size in SIZES:
        for name in chosen:
            path, cost, what = SETS[name]
            if not path.exists():
                print(f"skipped {name}: there is no {path}", file=sys.stderr)
                continue
            rows = list(named(replayed(path, cost, size)))
            if rows:
                rows.insert(-1, ("ASHA by front", replayed(path, cost, size, "asha")[0]))
            for rule, row in rows:
                kept = row["front"]
                shares = [kept["kept"], kept["hypervolume_kept"], kept["kept_at_random"]]
                less = f"{row['speedup_total']:.2f} ± {row['speedup_total_stderr']:.2f}"
                print(f"| {size} | `{name}`, {what} | {rule} | {less} | " + " | ".join(f"{100 * share:.1f} %" for share in shares) + " |")


if __name__ == "__main__":
    main()
