"""The hook that `foretell init` and `--source` load into Python scripts: it observes, and changes nothing. Only the standard library is
needed here; `scripts/test-hook` compares every entry of its table with the real library. FORETELL_PYTHONS names more interpreters."""

import ast
import json
import os
import pathlib
import re
import subprocess
import sys

import pytest

from hook_programs import HEAVY, PROGRAMS

HOOK = pathlib.Path(__file__).resolve().parents[2] / "crates/foretell-run/src/process/hook"
PYTHONS = [sys.executable, *filter(None, os.environ.get("FORETELL_PYTHONS", "").split(":"))]
PARSER = "import argparse, sys\np = argparse.ArgumentParser(); p.add_argument('--lr', type=float, default=.1); a = p.parse_args(); print('lr', a.lr)\n"
SCRIPTS = {
    "a.py": PARSER,
    "boom.py": "import argparse\np = argparse.ArgumentParser(); p.add_argument('--lr', type=lambda s: 1 / 0); p.parse_args(['--lr', '3'])\n",
    "fail.py": "import argparse\np = argparse.ArgumentParser(); p.add_argument('--data', required=True); p.parse_args()\n",
    "execv.py": "import os, sys\nif len(sys.argv) < 2: os.execv(sys.executable, [sys.executable, __file__, 'again'])\nimport argparse; p = argparse.ArgumentParser(); p.add_argument('x'); print(p.parse_args())\n",
    "closefds.py": "import os, argparse\np = argparse.ArgumentParser(); p.parse_args()\nos.closerange(3, 100); f = open('own.txt', 'w'); p.parse_args(); f.write('mine'); f.close(); print(open('own.txt').read()); os.chdir('/'); p.parse_args()\n",
    "sub.py": "import subprocess, sys\nfor env in (None, {}):\n    r = subprocess.run([sys.executable, 'a.py', '--lr', '3'], capture_output=True, text=True, env=env); print(r.stdout, r.stderr, r.returncode)\n",
    "sig.py": "import argparse, inspect, pickle\nf = argparse.ArgumentParser.parse_known_args\nprint(inspect.signature(f), f.__name__, f.__qualname__, f.__module__, len(inspect.getsource(f)) > 100, pickle.loads(pickle.dumps(f)) is f)\nimport sys; print([p for p in sys.path if 'process/hook' in p])\n",
    "mp.py": "import multiprocessing as m, argparse, concurrent.futures as cf\ndef f(i):\n    p = argparse.ArgumentParser(); p.add_argument('--k', default=i); return p.parse_args([]).k\nif __name__ == '__main__':\n    for how in ('fork', 'spawn', 'forkserver'):\n        with m.get_context(how).Pool(2) as pool: print(how, pool.map(f, range(4)))\n        with cf.ProcessPoolExecutor(2, mp_context=m.get_context(how)) as e: print(how, list(e.map(f, range(3))))\n",
    "random_numbers.py": "import argparse, random\nrandom.seed(3); p = argparse.ArgumentParser(); p.add_argument('--lr', default=1); p.parse_args(); print(random.random())\n",
    "own.py": "import builtins, argparse\np = argparse.ArgumentParser(); p.parse_args(); print(getattr(builtins, 'own', None))\n",
}
#: how a script is started, and how many records there are at least
WAYS = {
    "plain": (["a.py", "--lr", "2"], 2),
    "without site": (["-S", "a.py"], 0),
    "isolated": (["-I", "a.py"], 0),
    "without environment": (["-E", "a.py"], 0),
    "help": (["a.py", "--help"], 1),
    "missing option": (["fail.py"], 2),
    "bad value": (["a.py", "--lr", "x"], 2),
    "several ways of multiprocessing": (["mp.py"], 2),
    "execv": (["execv.py"], 3),
    "closed descriptors": (["closefds.py"], 3),
    "subprocesses": (["sub.py"], 3),
    "module": (["-m", "a", "--lr", "4"], 2),
    "command": (["-c", PARSER], 2),
    "signatures and pickles": (["sig.py"], 1),
    "random numbers": (["random_numbers.py"], 2),
}


@pytest.fixture
def folder(tmp_path):
    for name, text in SCRIPTS.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def start(command, folder, path="", **env):
    env = {**os.environ, "PYTHONPATH": path, **env}
    return subprocess.run([str(word) for word in command], cwd=folder, capture_output=True, text=True, env=env)


def hooked(command, folder, path="", **env):
    records = folder / "records"
    records.unlink(missing_ok=True)
    path = f"{HOOK}:{path}" if path else str(HOOK)
    done = start(command, folder, path, **{"FORETELL_HOOK": str(records), "FORETELL_HOOK_SECRETS": "secret;key,token", "PYTHONDONTWRITEBYTECODE": "1", **env})
    return done, list(map(by_option, records.open())) if records.exists() else []


def by_option(line):
    """A record, with the options as one dict each: the hook writes one list per field, and no values where they are the defaults."""
    record = json.loads(line)
    if record.get("kind") == "options":
        columns = record["options"]
        columns.setdefault("value", columns.get("default"))
        record["options"] = [dict(zip(columns, row)) for row in zip(*columns.values())]
    return record


def same(one, other):
    return (one.returncode, one.stdout, one.stderr) == (other.returncode, other.stdout, other.stderr)


@pytest.mark.parametrize("python", PYTHONS)
@pytest.mark.parametrize("way", WAYS)
def test_output_and_exit_code_are_the_same_however_python_is_started(way, python, folder):
    words, least = WAYS[way]
    plain = start([python, *words], folder)
    done, records = hooked([python, *words], folder)
    assert same(plain, done), (plain, done)
    assert len(records) >= least if least else not records, records


@pytest.mark.parametrize("series", [None, "csv:loss"])
@pytest.mark.parametrize("name", [name for name in PROGRAMS if name not in HEAVY][::4])
def test_a_program_that_watches_itself_sees_no_difference(name, series, folder):
    """One in four; `scripts/compare-hook` runs all of them, in `foretell init` and in searches."""
    for file, text in PROGRAMS[name].items():
        (folder / file).write_text(text)
    (folder / "a").mkdir(exist_ok=True)
    before = set(folder.rglob("*"))
    plain = start([sys.executable, "train.py"], folder, PYTHONDONTWRITEBYTECODE="1")
    left = set(folder.rglob("*")) - before
    done, _ = hooked([sys.executable, "train.py"], folder, **({"FORETELL_HOOK_SERIES": series} if series else {}))
    hide = lambda run: [re.sub("0x[0-9a-f]+", "0x", text) for text in (run.stdout, run.stderr)]  # noqa: E731
    assert (plain.returncode, hide(plain)) == (done.returncode, hide(done))
    assert set(folder.rglob("*")) - before - {folder / "records"} == left


@pytest.mark.parametrize("python", PYTHONS)
def test_an_exception_passes_with_its_exit_code(python, folder):
    plain, (done, _) = start([python, "boom.py"], folder), hooked([python, "boom.py"], folder)
    assert plain.returncode == done.returncode == 1
    assert plain.stderr.splitlines()[-1] == done.stderr.splitlines()[-1] == "ZeroDivisionError: division by zero"


@pytest.mark.parametrize("records", ["/nonexistent/file", "/dev/full", "0"])
def test_a_file_that_cannot_be_written_changes_nothing(records, folder):
    plain = start([sys.executable, "a.py"], folder)
    assert same(plain, start([sys.executable, "a.py"], folder, str(HOOK), FORETELL_HOOK=records))


@pytest.mark.parametrize("redirection", [">&-", "> /dev/full"])
def test_closed_and_full_outputs_fail_as_without_the_hook(redirection, folder):
    command = ["sh", "-c", f"'{sys.executable}' a.py {redirection}"]
    assert start(command, folder).returncode == hooked(command, folder)[0].returncode


@pytest.mark.parametrize("own", ["import builtins; builtins.own = 'mine'", "raise ValueError('broken')", "import nothing_like_this"])
@pytest.mark.parametrize("where", ["path", "environment"])
def test_another_sitecustomize_still_runs(own, where, folder):
    python, path = sys.executable, ""
    if where == "environment":
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "v"], check=True)
        python = str(folder / "v/bin/python")
        site = next((folder / "v/lib").iterdir()) / "site-packages"
    else:
        site = folder / "more"
        site.mkdir()
        path = str(site)
    (site / "sitecustomize.py").write_text(own)
    plain, (done, records) = start([python, "own.py"], folder, path), hooked([python, "own.py"], folder, path)
    assert same(plain, done) and records, (plain, done)
    assert ("mine" in plain.stdout) == ("mine" in own)


def options(folder, text, *words, **env):
    (folder / "script.py").write_text(text)
    done, records = hooked([sys.executable, "script.py", *words], folder, **env)
    assert done.returncode == 0, done.stderr
    return [record for record in records if record["kind"] == "options"]


def test_options_come_from_the_parser_with_their_level_and_without_secrets(folder):
    text = """
import argparse
p = argparse.ArgumentParser(); p.add_argument("--seed", type=int, default=1); p.add_argument("--api-key", default="sesame"); p.add_argument("--hf_token")
p.add_argument("--token-dim", type=int, default=8)
s = p.add_subparsers(dest="task"); t = s.add_parser("train"); t.add_argument("--lr", type=float, default=.01, help="rate (default: 7)"); t.add_argument("--warmup", type=int)
t.set_defaults(warmup=3); p.parse_args(["--seed", "5", "train", "--lr", "0.2"])
"""
    [record] = options(folder, text)
    found = {option["dest"]: option for option in record["options"]}
    assert sorted(found) == ["lr", "seed", "token_dim", "warmup"] and "sesame" not in json.dumps(record)
    assert record["used"] == ["train"] and found["lr"]["level"] == ["train"] and found["seed"]["level"] == []
    assert (found["lr"]["default"], found["lr"]["value"], found["lr"]["type"]) == (0.01, 0.2, "float")
    assert (found["seed"]["value"], found["warmup"]["default"]) == (5, 3) and all(option["own"] for option in found.values())


def test_only_rank_0_writes_and_a_rank_that_foretell_inherited_is_none(folder):
    assert options(folder, PARSER, RANK="1") == []
    assert options(folder, PARSER, RANK="0") and options(folder, PARSER, SLURM_PROCID="3", FORETELL_HOOK_IGNORE="SLURM_PROCID")


ROWS = """
import csv, sys
nan = float("nan")
w = csv.DictWriter(open("rows.csv", "w"), ["epoch", "acc", "loss"]); w.writeheader()
for epoch, acc in {rows}: w.writerow(dict(epoch=epoch, acc=acc, loss=1.0))
"""


def values(folder, rows, **env):
    (folder / "rows.py").write_text(ROWS.format(rows=rows))
    done, records = hooked([sys.executable, "rows.py"], folder, **env)
    assert done.returncode == 0, done.stderr
    return records


def test_values_have_their_training_and_one_that_comes_again_is_after_it(folder):
    records = values(folder, [(1, 0.1), (2, 0.2), (2, 0.2), (1, 0.3), (2, float("nan"))])
    acc = [(r["step"], r["value"], r["training"], r.get("after")) for r in records if r["kind"] == "value" and r["series"] == "acc"]
    assert acc == [(1, 0.1, 1, None), (2, 0.2, 1, None), (2, 0.2, 1, True), (1, 0.3, 2, None), (2, None, 2, None)]
    assert any(r["kind"] == "file" and r["path"].endswith("rows.csv") for r in records)


def test_a_search_reads_the_chosen_series_of_the_first_training_alone(folder):
    rows = [(1, 0.1), (2, 0.2), (2, 0.2), (1, 0.3), (2, 0.5)]
    found = values(folder, rows, FORETELL_HOOK_SERIES="csv:acc")
    assert found == [{"foretell": {"step": 1, "acc": 0.1}, "place": 1}, {"foretell": {"step": 2, "acc": 0.2}, "place": 2}]
    found = values(folder, rows, FORETELL_HOOK_SERIES="csv=mean:acc", FORETELL_START="second")
    assert found == [{"foretell": {"step": 1, "acc": 0.2}}, {"foretell": {"step": 2, "acc": 0.35}}]
    assert values(folder, rows, FORETELL_HOOK_SERIES="keras:acc") == []


def test_two_processes_are_never_merged(folder):
    text = "import os, csv, sys\nw = csv.DictWriter(sys.stdout, ['acc'])\nw.writerow(dict(acc=.1))\npid = os.fork()\nif pid: os.waitpid(pid, 0)\nw.writerow(dict(acc=.2 if pid else .9))\n"
    (folder / "two.py").write_text(text)
    done, records = hooked([sys.executable, "two.py"], folder, FORETELL_HOOK_SERIES="csv:acc")
    assert done.returncode == 0 and [r["foretell"]["acc"] for r in records] == [0.1, 0.2], done.stderr


def test_a_line_has_the_loops_around_its_statement(folder):
    text = "class A: folds, epochs = 2, 3\na = A(); a.epochs = 3\nfor fold in range(2):\n    for e in range(1, a.epochs + 1):\n        print('epoch', e)\n    print('mean', fold)\nprint('end')\n"
    (folder / "loops.py").write_text(text)
    _, records = hooked([sys.executable, "loops.py"], folder)
    lines = [r for r in records if r["kind"] == "line"]
    assert [loop["text"] for loop in lines[0]["loops"]] == ["fold", "e"] and [loop.get("of") for loop in lines[0]["loops"]] == [2, 3]
    assert [len(line["loops"]) for line in lines] == [2, 2, 2, 1, 2, 2, 2, 1, 0]


def test_an_entry_that_does_not_fit_is_told_once_and_changes_nothing(folder):
    package = folder / "timm/utils"
    package.mkdir(parents=True)
    (folder / "timm/__init__.py").write_text("")
    (package / "__init__.py").write_text("")
    (package / "summary.py").write_text("def update_summary(*values, **more): return 'kept'\n")
    (folder / "s.py").write_text("from timm.utils.summary import update_summary\nprint(update_summary(new=1), update_summary(new=1))\n")
    done, records = hooked([sys.executable, "s.py"], folder)
    assert done.stdout == "kept kept\n" and done.stderr == ""
    assert [r["where"] for r in records if r["kind"] == "trouble"] == ["_foretell_hook.values.timm"]


def test_the_table_and_the_entries_name_the_same_modules_and_entries_are_short(folder):
    text = "import json, sys\nhook = sys.meta_path[0].find_spec.__globals__; parts = [hook['load'](name).ENTRIES for name in ('options', 'parsers', 'values', 'lines')]\nprint(json.dumps([sorted(hook['TABLE']), sorted(name for part in parts for name in part)]))\n"
    (folder / "table.py").write_text(text)
    done, _ = hooked([sys.executable, "table.py"], folder)
    table, entries = json.loads(done.stdout)
    assert table == entries, done.stderr
    tree = ast.parse((HOOK / "_foretell_hook/values.py").read_text())
    entries = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.decorator_list]
    assert len(entries) > 20 and max(node.end_lineno - node.lineno + 1 for node in entries) <= 10
