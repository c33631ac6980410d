#!/usr/bin/env python3
"""Times Foretell against scikit-learn (and libsvm-rs, smartcore) on the same arrays, one thread each, and prints ratios.

    python3 benches/peers/peers.py [--format json] [--seed N] [--quick]

Makes its own virtual environment (next to this file, or in $PEERS_VENV), builds the Rust side in release mode, draws
curves, hyperparameters and folds from the seed, and runs both sides in turn. Times are CPU seconds of one thread. Exits
with 1 if the two sides do not choose the same hyperparameters or do not agree in prediction.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent
THREADS = ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"]
PACKAGES = ["numpy>=2", "scikit-learn>=1.6"]


def enter_environment(script):
    """Runs `script` again inside its own virtual environment, one thread a process."""
    home = Path(os.environ.get("PEERS_VENV", HERE / ".venv"))
    python = home / "bin" / "python"
    if not python.exists():
        venv.create(home, with_pip=True)
    missing = subprocess.run([python, "-c", "import numpy, sklearn"], capture_output=True).returncode
    if missing:
        subprocess.run([python, "-m", "pip", "install", "--quiet", *PACKAGES], check=True)
    environment = {**os.environ, "PEERS_INSIDE": "1", **{name: "1" for name in THREADS}}
    os.execve(python, [str(python), script, *sys.argv[1:]], environment)


def build():
    """The release binary of the Rust side."""
    command = ["cargo", "build", "--release", "--bin", "foretell-peers", "--message-format=json"]
    command += ["--manifest-path", str(HERE / "Cargo.toml")]
    lines = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
    binaries = [message.get("executable") for message in map(json.loads, lines) if message.get("executable")]
    return binaries[-1]


def measure_rust(binary, directory):
    """The output of the Rust side; libsvm-rs prints its progress on stderr, which is shown only if it fails."""
    done = subprocess.run([binary, directory], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{binary} failed:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout)


def write_arrays(directory, arrays):
    import numpy as np

    for name, values in arrays.items():
        np.savetxt(Path(directory) / f"{name}.csv", np.atleast_1d(values), delimiter=",", fmt="%.17g")


def draw_arrays(seed, quick):
    """Everything both sides work on: T = 60 epochs, 100 training runs, 1000 running trials, 1000 draws, 3 folds."""
    import numpy as np
    from curves import draw_curves, draw_search

    configurations, curves = draw_curves(1100, 60, seed)
    draws, folds = draw_search(1000, 100, 3, seed + 1)
    random = np.random.default_rng(seed + 2)
    count = 10 if quick else 20
    forests = np.column_stack([random.integers(10, 801, count), random.uniform(0.1, 0.5, count)])
    return {
        "curves": curves[:100], "configurations": configurations[:100],
        "test_curves": curves[100:], "test_configurations": configurations[100:],
        "draws": draws, "folds": folds, "forest_draws": forests,
        "tau": np.array([20]), "sample": np.arange(30 if quick else 100),
    }


def row(name, theirs, ours, note=""):
    return {"what": name, "peer_seconds": theirs, "foretell_seconds": ours, "ratio": theirs / ours, "note": note}


def compare(ours, theirs):
    """The table: peer, Foretell, ratio."""
    one, taus, fit = ours["one_tau"], ours["all_taus"], ours["one_fit"]
    rbf, linear = theirs["rbf"], theirs["linear"]
    libsvm, chosen = ours["libsvm_rs"], fit["chosen"]["seconds"]
    per_call = theirs["forecast_seconds"]
    return [
        row("one fit RBF, n = 67, mean over sampled draws", theirs["fit"]["rbf"], fit["rbf"]["mean_seconds"]),
        row("one fit RBF, n = 100, the chosen draw", theirs["fit"]["chosen"], chosen),
        row("one fit linear, n = 67, mean over sampled draws", theirs["fit"]["linear"], fit["linear"]["mean_seconds"],
            theirs["fit"]["note"]),
        row("one tau RBF: 1000 draws x 3 folds, refit, leave-one-out", rbf["seconds"], one["rbf"]["seconds"], rbf["note"]),
        row("one tau linear, the same", linear["seconds"], one["linear"]["seconds"], linear["note"]),
        row("all 59 tau RBF", rbf["seconds"] * 59, taus["seconds"], "scikit-learn: one tau times 59"),
        row("one forecast, stateless", per_call, one["rbf"]["forecast_seconds"]),
        row("one forecast in a running trial", per_call, taus["streaming_seconds"]),
        row(f"{taus['decisions']} decisions (1000 trials x 59)", theirs["decisions_seconds"], taus["decisions_seconds"],
            "scikit-learn: 59 batches of 1000"),
        row("random forest search", theirs["forest"]["seconds"], ours["forest_search"]["seconds"],
            theirs["forest"]["note"]),
        row("libsvm-rs: one fit RBF, n = 67", libsvm["mean_seconds"], fit["rbf"]["mean_seconds"]),
        row("libsvm-rs: one fit RBF, the chosen draw", libsvm["chosen_seconds"], chosen),
        row("smartcore: random forest search", ours["smartcore_forest"]["seconds"], ours["forest_search"]["seconds"],
            f"{ours['smartcore_forest']['measured_draws']} draws, extrapolated by trees"),
    ]


def check(ours, theirs):
    """The facts that must agree, each with the values found."""
    import numpy as np

    one = ours["one_tau"]
    found = []
    # libsvm keeps its kernel in single precision: with linear kernels, whose entries are large, its solution violates
    # optimality by some 4e-5 at any tolerance, and Foretell's by less than 1e-6
    for kernel, room in [("rbf", 1e-4), ("linear", 1e-3)]:
        mine, other = one[kernel], theirs[kernel]
        spread = np.std(other["held_out"])
        gap = np.abs(np.subtract(mine["forecasts"], other["forecasts"])).max() / spread
        left_out = np.abs(np.subtract(mine["held_out"], other["held_out"])).max() / spread
        found += [
            (f"{kernel}: same winner (draw {other['index']}; Foretell {mine['index']})", mine["index"] == other["index"]),
            (f"{kernel}: score of the winner differs by {abs(mine['score'] - other['score']):.1e} (< 1e-5)",
             abs(mine["score"] - other["score"]) < 1e-5),
            (f"{kernel}: forecasts differ by {gap:.1e} standard deviations of the target (< {room})", gap < room),
            (f"{kernel}: leave-one-out forecasts differ by {left_out:.1e} (< {room})", left_out < room),
        ]
    # libsvm's single precision, 6e-8, times a sum of coefficients of some hundreds
    furthest = ours["libsvm_rs"]["furthest_prediction"]
    found.append((f"libsvm-rs: predictions at tolerance 1e-8 differ by {furthest:.1e} (< 1e-5)", furthest < 1e-5))
    return found


def show(rows, checks):
    print(f"{'what':58}{'peer':>13}{'Foretell':>13}{'ratio':>10}  note")
    for line in rows:
        times = "".join(f"{line[key] * 1e3:>10.4f} ms" for key in ["peer_seconds", "foretell_seconds"])
        print(f"{line['what']:58}{times}{line['ratio']:>9.0f}x  {line['note']}")
    for text, fine in checks:
        print(f"{'agrees' if fine else 'DIFFERS'}: {text}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--format", choices=["table", "json"], default="table")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--quick", action="store_true", help="measure scikit-learn on fewer draws and extrapolate")
    options = parser.parse_args()
    if "PEERS_INSIDE" not in os.environ:
        enter_environment(__file__)
    from scikit import measure

    arrays = draw_arrays(options.seed, options.quick)
    with tempfile.TemporaryDirectory() as directory:
        write_arrays(directory, arrays)
        ours = measure_rust(build(), directory)
    winners = {kernel: ours["one_tau"][kernel]["index"] for kernel in ["rbf", "linear"]}
    theirs = measure(arrays, winners, options.quick)
    rows, checks = compare(ours, theirs), check(ours, theirs)
    if options.format == "json":
        agreement = [{"what": text, "agrees": bool(fine)} for text, fine in checks]
        print(json.dumps({"schema": "foretell.peers/1", "rows": rows, "agreement": agreement,
                          "fits_solved": {k: ours["one_tau"][k]["fits_solved"] for k in winners}}))
    else:
        show(rows, checks)
    sys.exit(0 if all(fine for _, fine in checks) else 1)


if __name__ == "__main__":
    main()
