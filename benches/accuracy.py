#!/usr/bin/env python3
"""Prints the tables of docs/explanation/accuracy.md, in Markdown.

    python3 benches/accuracy.py [--seeds 1] [CURVES...]

CURVES are files or folders of recorded curves; by default those in $FORETELL_DATA/curves (or ../shared/data/curves), those of
benches/curves, and, where they were made, target/made-up-curves and target/trainings. It runs target/release/foretell (`cargo build --release`), or the program $FORETELL.
Every figure is from `foretell evaluate --format json`, averaged over seeds.
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
# sets too small for 100 runs to learn from and enough to test
FEWER = {"deepobs_cifar10_3c3d": 60, "nmt_ted-ru-en": 30, "algoperf_imagenet_resnet": 30}


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


def by_set(paths, seeds):
    print("| curves | runs | 10 % | 25 % | 50 % |\n|---|---|---|---|---|")
    coverage, leads, cells = [], 0, 0
    for path in paths:
        name = path.name.split(".")[0]
        train = FEWER.get(name, 100)
        rows = evaluate(path, train, ["auto", *OTHERS], seeds)
        texts = []
        for observed in OBSERVED:
            own = rows.get(("auto", observed))
            others = [(rows[(p, observed)][0], p) for p in OTHERS if (p, observed) in rows]
            if own is None or not others:
                texts.append("-")
                continue
            best, who = max(others)
            cells, leads = cells + 1, leads + (own[0] >= best)
            texts.append(f"{own[0]:.3f} ({best:.3f}, `{who}`)")
            coverage.append((name, observed, own))
        if rows:
            print(f"| {name} | {train} | " + " | ".join(texts) + " |", flush=True)
    print(f"\n`auto` is ahead of the best other predictor, chosen in hindsight, in {leads} of {cells} cells.\n")
    print("| curves | in 50 % | in 80 % | in 90 % | in 95 % | best tenth below the 95 % bound |\n|---|---|---|---|---|---|")
    names = list(dict.fromkeys(name for name, _, _ in coverage))
    for name in [*names, None]:
        of = [values for n, _, values in coverage if name in (n, None)]
        cut = [f"{mean(v[k] for v in of):.3f}" for k in range(1, 6)]
        print(f"| {name or '**all**'} | " + " | ".join(cut) + " |")


def from_few(paths, seeds):
    print("| runs | `auto` | `gp` | in 50 % | in 80 % | in 90 % | in 95 % | best tenth below the 95 % bound |")
    print("|---|---|---|---|---|---|---|---|")
    for train in [3, 5, 10, 20, 30]:
        all_rows = [rows for path in paths if (rows := evaluate(path, train, ["auto", "gp"], seeds))]
        if not all_rows:
            continue
        r2 = {
            predictor: "/".join(f"{mean(r[(predictor, o)][0] for r in all_rows if (predictor, o) in r):.3f}" for o in OBSERVED)
            for predictor in ["auto", "gp"]
        }
        own = [r[("auto", o)] for r in all_rows for o in OBSERVED if ("auto", o) in r]
        cut = [f"{mean(v[k] for v in own):.3f}" for k in range(1, 6)]
        print(f"| {train} | {r2['auto']} | {r2['gp']} | " + " | ".join(cut) + " |", flush=True)


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
            by_set(paths, given.seeds)
        print()
        from_few(paths, given.seeds)


if __name__ == "__main__":
    main()
