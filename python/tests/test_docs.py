"""The scripts of the documentation's pages run as they stand, and the reference is that of the docstrings."""

import importlib.util
import json
import re
import runpy
import socket
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
EXAMPLES = Path(__file__).parents[1] / "examples"
PAGES = {
    "python.md": [],
    "python-optuna.md": ["optuna", "sklearn"],
    "python-ray.md": ["ray"],
    "python-lightning.md": ["lightning"],
    "python-transformers.md": ["transformers", "torch"],
    "python-keras.md": ["keras", "jax"],
    "python-own-loop.md": [],
}


@pytest.mark.parametrize("page", PAGES)
def test_the_script_of_a_page_runs(page, tmp_path, monkeypatch):
    missing = [module for module in PAGES[page] if importlib.util.find_spec(module) is None]
    if missing:
        pytest.skip(f"{page}: {', '.join(missing)} not installed")
    script = re.search(r"```python\n(.*?)```", (DOCS / "how-to" / page).read_text(), re.S).group(1)
    assert script.count("\n") <= 40
    (tmp_path / "script.py").write_text(script)
    if page == "python-ray.md":
        monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
        monkeypatch.setenv("HOME", str(tmp_path))
    done = subprocess.run([sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True, timeout=400)
    assert done.returncode == 0, done.stderr
    assert "will not win" in done.stdout


#: The code before a fragment of a page, by the number of its block: what the text around it describes.
BEFORE = {
    ("python.md", 1): """
import shutil
del study
shutil.rmtree("my-study")
def objective(trial):
    rate = trial.suggest_float("lr", 1e-3, 1, log=True)
    for step in range(15):
        trial.report(accuracy(rate, step + 1), step)
        if trial.should_prune():
            break
    return accuracy(rate, step + 1)
""",
    ("python.md", 3): """
import matplotlib
matplotlib.use("Agg")
foretell.Study({"lr": foretell.log(1e-3, 1)}, folder="runs/first", metric="accuracy", epochs=15, trials=3).optimize(objective)
""",
    ("python.md", 5): """
import subprocess, sys, time, urllib.request
server = subprocess.Popen([sys.executable, "-m", "foretell", "serve", "served", "--address", "127.0.0.1:8675"])
import atexit
atexit.register(server.kill)
for _ in range(100):
    try:
        urllib.request.urlopen("http://127.0.0.1:8675/api/studies")
        break
    except OSError:
        time.sleep(0.2)
""",
    ("python-own-loop.md", 1): """
import os, tempfile, numpy as np, lightgbm, xgboost
os.chdir(tempfile.mkdtemp())
x = np.random.default_rng(0).normal(size=(300, 3))
y = (x[:, 0] > 0).astype(int)
params = {"objective": "binary:logistic", "eval_metric": "auc", "nthread": 1}
train, test = xgboost.DMatrix(x[:200], y[:200]), xgboost.DMatrix(x[200:], y[200:])
""",
    ("python-own-loop.md", 2): """
os.chdir(tempfile.mkdtemp())
params = {"objective": "binary", "metric": "auc", "num_threads": 1, "verbose": -1}
train = lightgbm.Dataset(x[:200], y[:200])
test = lightgbm.Dataset(x[200:], y[200:], reference=train)
""",
    ("python-own-loop.md", 3): "",
}


@pytest.mark.parametrize("page", ["python.md", "python-own-loop.md"])
def test_the_fragments_of_a_page_run(page, tmp_path):
    for module in {"python.md": ["pandas", "matplotlib"], "python-own-loop.md": ["xgboost", "lightgbm"]}[page]:
        pytest.importorskip(module)
    blocks = re.findall(r"```python\n(.*?)```", (DOCS / "how-to" / page).read_text(), re.S)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    (tmp_path / "served").mkdir()
    code = "\n".join(BEFORE.get((page, number), "") + block for number, block in enumerate(blocks)).replace("8675", port)
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=400)
    assert done.returncode == 0, done.stderr[-3000:]
    assert {number for name, number in BEFORE if name == page} < set(range(len(blocks)))


def test_code_of_other_pages_is_one_script():
    """A page with more code needs an entry above."""
    several = {name for name in PAGES if (DOCS / "how-to" / name).read_text().count("```python") > 1}
    assert several == {"python.md", "python-own-loop.md"}


@pytest.mark.parametrize("readme", [DOCS.parent / "README.md", DOCS.parent / "python" / "README.md"], ids=["repository", "package"])
def test_the_script_of_a_readme_runs(readme, tmp_path):
    script = "\n".join(re.findall(r"```python\n(.*?)```", readme.read_text(), re.S))
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=400)
    assert done.returncode == 0, done.stderr


def test_all_pages_are_tested():
    assert {path.name for path in (DOCS / "how-to").glob("python*.md")} == set(PAGES)


def test_the_reference_is_that_of_the_docstrings():
    made = runpy.run_path(str(Path(__file__).parents[1] / "reference.py"))["text"]()
    assert (DOCS / "reference" / "python.md").read_text() == made, "run python/reference.py"


def test_a_notebook_shows_a_study_as_html(tmp_path):
    nbformat, nbclient, nbconvert = map(pytest.importorskip, ("nbformat", "nbclient", "nbconvert"))
    pytest.importorskip("matplotlib")
    notebook = nbformat.read(EXAMPLES / "study.ipynb", 4)
    nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    page, _ = nbconvert.HTMLExporter().from_notebook_node(notebook)
    shown = re.search(r"20 of 20 trials of `accuracy`.*?</table>", page, re.S).group(0)
    assert "<svg" in shown and "<th>lr</th>" in shown and shown.count("<tr>") == 6


def test_a_notebook_shows_a_plot_once(tmp_path):
    nbformat, nbclient = map(pytest.importorskip, ("nbformat", "nbclient"))
    pytest.importorskip("matplotlib")
    code = """
import foretell
study = foretell.Study({"x": foretell.float(0, 1)}, metric="acc", epochs=1, trials=4)
study.optimize(lambda trial: trial.config["x"])
study.plot()
"""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code)])
    nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    pictures = [output for output in notebook.cells[0].outputs if "image/png" in output.get("data", {})]
    assert len(pictures) == 1


@pytest.mark.parametrize("name", ["old_logs.ipynb", "study.ipynb"])
def test_a_notebook_runs(name, tmp_path):
    pytest.importorskip("pandas")
    notebook = json.loads((EXAMPLES / name).read_text())
    code = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    (tmp_path / "notebook.py").write_text("\n\n".join(code))
    done = subprocess.run([sys.executable, "notebook.py"], cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
