#!/usr/bin/env python3
"""Prints the tables of docs/explanation/accuracy.md, in Markdown.

    python3 benches/accuracy.py [--seeds 1] [CURVES...]

CURVES are files or folders of recorded curves. By default they are those in $FORETELL_DATA/curves (or ../shared/data/curves), those of
benches/curves, and, if they exist, target/made-up-curves and target/trainings. It runs target/release/foretell (`cargo build --release`), or the program $FORETELL.
Every figure is from `foretell evaluate --format json`, averaged over seeds. R² is the mean over the sets of a family after 10, 25 and 50 % of the curve.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = pathlib.Path(os.environ.get("FORETELL", HERE / "target/release/foretell"))
OTHERS = ["last-value", "gp", "svr-rbf", "ridge"]
OBSERVED = [0.1, 0.25, 0.5]
SHARES = ["0.5", "0.8", "0.9", "0.95"]
# sets with too few completed runs to learn from 100 and have enough to test; algoperf has many repeats of few configurations
FEWER = {"algoperf_imagenet_resnet": 30, "nmt_ted-zh-en": 15}
FEWER |= dict.fromkeys([f"deepobs_{name}" for name in ["cifar10_3c3d", "cifar100_allcnnc", "fmnist_2c2d", "fmnist_vae", "mnist_vae"]], 60)
FEWER |= dict.fromkeys([f"nmt_{name}" for name in ["fr-en_bloomz", "fr-en_xglm", "robust19-en-ja", "robust19-ja-en", "ted-ru-en"]], 30)
FEWER |= dict.fromkeys(["nmt_zh-en_bloomz", "nmt_zh-en_xglm"], 30)
# sets of one source are alike, and count as one family
FAMILIES = ["algoperf", "deepobs", "naap440", "nmt", "taskset"]
SHOWN = ["auto", "gp", "svr-rbf"]


def recorded():
    """The recorded sets that are there."""
    data = pathlib.Path(os.environ.get("FORETELL_DATA", HERE / "../shared/data")) / "curves"
    found = sorted((data / "paper").glob("*.csv")) + sorted(p for p in (data / "others").glob("*") if p.is_dir())
    if not found:
        print(f"skipped: no recorded curves in {data}; set FORETELL_DATA", file=sys.stderr)
    return found


def evaluate(path, train, predictors, seeds):
    """Rows of `foretell evaluate`, averaged over seeds, by (predictor, observed)."""
    sums, count = {}, {}
    for seed in range(seeds):
        command = [PROGRAM, "evaluate", path, "--train", train, "--seed", seed, "--predictor", ",".join(predictors)]
        command += ["--observed", ",".join(map(str, OBSERVED)), "--repeats", 10 if train > 20 else 5, "--format", "json"]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
        if done.returncode:
            print(f"skipped {path.name} with {train} runs: {done.stderr.strip().splitlines()[-1]}", file=sys.stderr)
            return {}
        for row in json.loads(done.stdout)["rows"]:
            key = (row["predictor"], row["observed"])
            values = [max(row["r2_floored_mean"], -1.0)] + [row["coverage"][s] for s in SHARES]
            values += [row["upper_coverage_top_decile"]["0.95"], row["r2_mean"]]
            if any(value is None for value in values):
                continue
            sums[key] = [a + b for a, b in zip(sums.get(key, [0.0] * len(values)), values)]
            count[key] = count.get(key, 0) + 1
    return {key: [value / count[key] for value in values] for key, values in sums.items()}


def mean(values):
    values = list(values)
    return sum(values) / len(values) if values else float("nan")


def family(name):
    return next((family for family in FAMILIES if name.startswith(family)), name)


def cut(rows, predictor):
    """The mean R² of `predictor` over the sets, after each fraction observed."""
    return " / ".join(f"{mean(r[(predictor, o)][0] for r in rows if (predictor, o) in r):.2f}" for o in OBSERVED)


def by_family(paths, seeds):
    """A row per family of sets, and how often `auto` is ahead in a set after a fraction observed."""
    families, leads, cells = {}, 0, 0
    for path in paths:
        name = path.name.split(".")[0]
        rows = evaluate(path, FEWER.get(name, 100), ["auto", *OTHERS], seeds)
        if not rows:
            continue
        families.setdefault(family(name), []).append(rows)
        for observed in OBSERVED:
            others = [rows[(p, observed)][0] for p in OTHERS if (p, observed) in rows]
            if ("auto", observed) in rows and others:
                cells, leads = cells + 1, leads + (rows[("auto", observed)][0] >= max(others))
    heads = [f"`{predictor}`" for predictor in SHOWN] + ["in 80 %", "in 95 %", "best tenth below the 95 % bound"]
    print("| curves | sets | " + " | ".join(heads) + " |\n|---|---|" + "---|" * len(heads))
    every = [rows for sets in families.values() for rows in sets]
    for name, sets in [*families.items(), ("**all sets**", every)]:
        own = [rows[("auto", o)] for rows in sets for o in OBSERVED if ("auto", o) in rows]
        held = [f"{mean(values[k] for values in own):.3f}" for k in (2, 4, 5)]
        print(f"| {name} | {len(sets)} | " + " | ".join([cut(sets, predictor) for predictor in SHOWN] + held) + " |")
    print(f"\n`auto` is ahead of the best other predictor, chosen in hindsight, in {leads} of {cells} cells.\n")


def from_few(paths, seeds):
    print("| runs | `auto` | `gp` | in 80 % | in 95 % | best tenth below the 95 % bound |")
    print("|---|---|---|---|---|---|")
    for train in [3, 5, 10, 20, 30]:
        all_rows = [rows for path in paths if (rows := evaluate(path, train, ["auto", "gp"], seeds))]
        if not all_rows:
            continue
        own = [r[("auto", o)] for r in all_rows for o in OBSERVED if ("auto", o) in r]
        held = [f"{mean(v[k] for v in own):.3f}" for k in (2, 4, 5)]
        print(f"| {train} | {cut(all_rows, 'auto')} | {cut(all_rows, 'gp')} | " + " | ".join(held) + " |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("curves", nargs="*", type=pathlib.Path)
    given = parser.parse_args()
    own = sorted((HERE / "benches/curves").glob("*.gz"))
    groups = {"recorded": given.curves} if given.curves else {
        "recorded": recorded(),
        "networks trained by Foretell": own,
        "small models": sorted((HERE / "target/trainings").rglob("*.csv")),
        "made-up curves": sorted((HERE / "target/made-up-curves").glob("*.csv")),
    }
    for name, paths in groups.items():
        if not paths:
            continue
        print(f"\n### {name}\n")
        if name != "networks trained by Foretell":
            by_family(paths, given.seeds)
        print()
        from_few(paths, given.seeds)


if __name__ == "__main__":
    main()
