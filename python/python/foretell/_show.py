"""A study in notebooks and terminals: a table of the best trials, its curves, and a progress bar."""

from __future__ import annotations

import importlib.util
import io
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from ._records import TrialRecord

#: Maximum number of trials in the table.
MOST_ROWS = 5


def html(view: Mapping[str, Any], title: str) -> str:
    """The study as HTML: its curves, where matplotlib is installed, and a table of its best trials."""
    trials: Sequence[TrialRecord] = view["trials"]
    sign = -1 if view["settings"].get("direction") == "maximize" else 1
    ended = [trial for trial in trials if trial["score"] is not None and trial["state"] == "completed"]
    best = sorted(ended, key=lambda trial: (sign * (trial["score"] or 0.0), trial["number"]))[:MOST_ROWS]
    names = list(dict.fromkeys(name for trial in best for name in trial["config"]))
    rows = [[str(trial["number"]), shown(trial["score"]), *(shown(trial["config"].get(name)) for name in names)] for trial in best]
    table = _table(["trial", str(view["settings"].get("metric", "score")), *names], rows) if rows else "<p>no trial has completed</p>"
    return f"<div><p><b>{escape(title)}</b></p>{_svg(view) if rows else ''}{table}</div>"


def trial_html(trial: TrialRecord) -> str:
    """A trial as HTML."""
    facts = {"state": trial["state"], "score": shown(trial["score"]), "epochs": len(trial["values"]), **trial["config"]}
    rows = [[name, shown(value)] for name, value in facts.items()]
    return f"<div><p><b>trial {trial['number']}</b></p>{_table(['', ''], rows)}</div>"


def shown(value: Any) -> str:
    """A value in a table."""
    return "" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    def line(cells: Sequence[str], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"

    return f"<table>{line(head, 'th')}{''.join(line(row, 'td') for row in rows)}</table>"


def _svg(view: Mapping[str, Any]) -> str:
    if importlib.util.find_spec("matplotlib") is None:
        return ""
    import matplotlib.pyplot as plt

    from ._plots import draw

    figure = draw(dict(view), "curves")
    text = io.StringIO()
    figure.savefig(text, format="svg")
    plt.close(figure)
    return text.getvalue().partition("<svg")[1] + text.getvalue().partition("<svg")[2]


class Bar:
    """A progress bar over trials: tqdm's, where it is installed."""

    def __init__(self, total: int | None, done: int) -> None:
        if importlib.util.find_spec("tqdm") is None:
            raise ImportError("the progress bar requires tqdm. Install it with: pip install tqdm. Otherwise, leave out show_progress_bar")
        from tqdm.auto import tqdm

        self._bar = tqdm(total=total, initial=done, unit="trial")

    def step(self, words: str) -> None:
        """One more trial has ended."""
        self._bar.set_postfix_str(words, refresh=False)
        self._bar.update(1)

    def close(self) -> None:
        """No more trials."""
        self._bar.close()
