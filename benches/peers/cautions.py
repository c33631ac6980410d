#!/usr/bin/env python3
"""Tables of simulated searches that stop by the chain: what each bar c trains and keeps, and the c that is chosen with families left out.

    foretell replay FOLDER... --policy none --study-size 40 --orderings 10 --write-orders orders.jsonl
    target/release/examples/chain_coverage orders.jsonl --bars 0.06,0.1,0.16,0.25,0.4 | python3 benches/peers/cautions.py

Reads the lines of the example `chain_coverage`. A set's family is its name up to the first hyphen or underscore; fine-tunings (bloomz, xglm) are one of
their own. All figures are means over families of means over sets, ± is the standard error over families. --leave-out chooses, for each promise, the
largest c that keeps the best in that fraction of the orders of all families but one, and measures it on that one. --by-family prints each family.
"""

import argparse
import json
import statistics
import sys
from collections import defaultdict

FIGURES = ("left", "best", "three", "regret")


def family(name):
    return "lora" if name.endswith(("bloomz", "xglm")) else name.replace("-", "_").split("_")[0]


def read(lines):
    """(runs, workers, factor) → c → family → figures, each the mean over a family's sets."""
    sets = defaultdict(lambda: defaultdict(lambda: defaultdict(lambda: defaultdict(list))))
    for line in map(json.loads, lines):
        key = (line["workers"], line["factor"])
        sets[key][line["bar"]][family(line["curves"])][line["curves"]].append(line)
    def figures(rows):
        mean = lambda value: statistics.fmean(map(value, rows))
        count = sum(row["forecasts"] for row in rows) or 1
        return {"left": sum(row["trained"] for row in rows) / sum(row["whole"] for row in rows), "best": mean(lambda row: row["best"]),
                "three": mean(lambda row: row["three"]), "regret": mean(lambda row: row["regret"]), "taught": mean(lambda row: row["is_taught"]),
                "80": sum(row["within_80"] for row in rows) / count, "95": sum(row["within_95"] for row in rows) / count}
    def over_sets(of):
        found = [figures(rows) for rows in of.values()]
        return {name: statistics.fmean(each[name] for each in found) for name in found[0]}
    return {key: {bar: {name: over_sets(of) for name, of in families.items()} for bar, families in bars.items()} for key, bars in sets.items()}


def pair(values, digits, scale=1.0):
    error = statistics.stdev(values) / len(values) ** 0.5 if len(values) > 1 else 0.0
    return f"{scale * statistics.fmean(values):.{digits}f} ± {scale * error:.{digits}f}"


def row(name, of):
    """A row of a table: `of` are the figures of families."""
    left = [each["left"] for each in of]
    mean = statistics.fmean(left)
    error = statistics.stdev(left) / len(left) ** 0.5 / mean ** 2 if len(left) > 1 else 0.0
    column = lambda figure: [each[figure] for each in of]
    covered = " / ".join(f"{100 * statistics.fmean(column(share)):.0f}" for share in ("80", "95"))
    return (f"| {name} | {1 / mean:.2f} ± {error:.2f}× | {pair(column('best'), 1, 100)} | {pair(column('three'), 1, 100)} | {pair(column('regret'), 2, 100)} "
            f"| {covered} | {100 * statistics.fmean(column('taught')):.0f} |")


def heading(first):
    print(f"| {first} | speed-up | best kept, % | one of the best three, % | regret, % of best − median | 80 / 95 % hold, % | lessons counted, % |")
    print("|---" * 7 + "|")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--by-family", action="store_true")
    parser.add_argument("--leave-out", default="", metavar="PROMISES", help="such as 0.97,0.95")
    parser.add_argument("--without", default="lora", help="families that are not averaged")
    arguments = parser.parse_args()
    for (workers, factor), bars in sorted(read(sys.stdin).items()):
        names = sorted({name for families in bars.values() for name in families} - set(arguments.without.split(",")))
        print(f"\n{workers} workers, {len(names)} families, bar with lessons {factor:g} c\n")
        if names:
            heading("c")
        for bar, families in sorted(bars.items()):
            if names:
                print(row(f"{bar:g}", [families[name] for name in names]))
        for promise in filter(None, arguments.leave_out.split(",")):
            found, chosen = [], []
            for name in names:
                keeps = lambda bar: statistics.fmean(bars[bar][other]["best"] for other in names if other != name) >= float(promise)
                chosen.append(max(filter(keeps, bars), default=min(bars)))
                found.append(bars[chosen[-1]][name])
            print(row(f"{promise} kept on the others: c {min(chosen):g} to {max(chosen):g}", found))
        shown = names if arguments.by_family else []
        for name in [*shown, *arguments.without.split(",")]:
            if any(name in families for families in bars.values()):
                print()
                heading(f"{name}: c")
                for bar, families in sorted(bars.items()):
                    print(row(f"{bar:g}", [families[name]]))


if __name__ == "__main__":
    main()
