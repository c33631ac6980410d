"""The scripts of the documentation's pages run as they stand, and the reference is that of the docstrings."""

import importlib.util
import json
import re
import runpy
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


def test_the_script_of_the_readme_runs(tmp_path):
    script = re.search(r"```python\n(.*?)```", (DOCS.parent / "python" / "README.md").read_text(), re.S).group(1)
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


@pytest.mark.parametrize("name", ["old_logs.ipynb", "study.ipynb"])
def test_a_notebook_runs(name, tmp_path):
    pytest.importorskip("pandas")
    notebook = json.loads((EXAMPLES / name).read_text())
    code = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    (tmp_path / "notebook.py").write_text("\n\n".join(code))
    done = subprocess.run([sys.executable, "notebook.py"], cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
