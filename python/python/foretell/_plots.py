"""Pictures of a study, with matplotlib."""

from __future__ import annotations

from typing import Any

#: Okabe and Ito's colors, told apart by everybody; those of the command's pictures.
COLORS = {
    "completed": "#0072b2",
    "stopped": "#d55e00",
    "running": "#009e73",
    "paused": "#e69f00",
    "interrupted": "#56b4e9",
    "failed": "#999999",
}
#: With more stopped trials only the means of their forecasts are drawn.
MOST_INTERVALS = 12


def draw(view: dict[str, Any], kind: str) -> Any:
    """The figure of that kind."""
    kinds = {"curves": _curves, "history": _history, "parameters": _parameters}
    if kind not in kinds:
        raise ValueError(f"unknown plot kind {kind!r}. Use one of: {', '.join(kinds)}")
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError("plots require matplotlib. Install it with: pip install 'foretell[plot]'") from None
    figure = kinds[kind](plt, view)
    if "inline" in plt.get_backend().lower():
        # a notebook shows open figures at the end of a cell, and the returned one once more
        plt.close(figure)
    return figure


def _curves(plt: Any, view: dict[str, Any]) -> Any:
    """All curves; of a stopped one its forecast, with the interval that holds 90 %."""
    figure, axes = plt.subplots(layout="constrained")
    shown: set[str] = set()
    end = view["settings"]["epochs"]
    # the intervals of many forecasts hide each other
    few = sum(trial["state"] == "stopped" for trial in view["trials"]) <= MOST_INTERVALS
    for trial in view["trials"]:
        state, steps, values = trial["state"], trial["steps"], trial["values"]
        if not steps:
            continue
        color = COLORS.get(state, "#999999")
        label = state if state not in shown else None
        shown.add(state)
        axes.plot(steps, values, color=color, alpha=0.7, linewidth=1.2, label=label, marker="." if len(steps) == 1 else None)
        forecast = (trial["decision"] or {}).get("forecast") if state == "stopped" else None
        if forecast:
            low, high = forecast["interval"]
            axes.plot([steps[-1], end], [values[-1], forecast["mean"]], color=color, alpha=0.35, linewidth=0.8, linestyle=":")
            axes.plot(end, forecast["mean"], ".", color=color, alpha=0.6)
            if few:
                axes.plot([end, end], [low, high], color=color, alpha=0.3)
    axes.set_xlabel("epoch")
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.set_ylabel(view["settings"]["metric"])
    if shown:
        axes.legend(frameon=False)
    return figure


def _history(plt: Any, view: dict[str, Any]) -> Any:
    """The best so far against the epochs trained, in the order of the trials."""
    figure, axes = plt.subplots(layout="constrained")
    better = max if view["settings"]["direction"] == "maximize" else min
    spent, best, points = 0, None, []
    for row in view["rows"]:
        spent += row["epochs"] or 0
        if row["score"] is not None and row["state"] == "completed":
            best = row["score"] if best is None else better(best, row["score"])
            axes.plot(spent, row["score"], ".", color=COLORS["completed"], alpha=0.4)
        if best is not None:
            points.append((spent, best))
    if points:
        axes.step(*zip(*points), where="post", color=COLORS["stopped"], label="best so far")
        axes.legend(frameon=False)
    axes.set_xlabel("epochs trained")
    axes.set_ylabel(view["settings"]["metric"])
    return figure


def _parameters(plt: Any, view: dict[str, Any]) -> Any:
    """The score against each parameter; of stopped trials the forecast."""
    space = view["settings"]["space"]
    kinds = {one["name"]: one for one in space} if isinstance(space, list) else {}
    names = list(kinds) or ["net"]
    width = min(3, len(names))
    height = -(-len(names) // width)
    figure, grid = plt.subplots(height, width, squeeze=False, layout="constrained", figsize=(3.6 * width, 2.9 * height), sharey=True)
    for at, axes in enumerate(grid.flat):
        if at >= len(names):
            axes.set_visible(False)
            continue
        _slice(axes, view["rows"], names[at], kinds.get(names[at], {"kind": "choice"}))
    for row in grid:
        row[0].set_ylabel(view["settings"]["metric"])
    grid[0][0].legend(frameon=False, fontsize="small")
    return figure


def _slice(axes: Any, rows: list[dict[str, Any]], name: str, kind: dict[str, Any]) -> None:
    is_choice = kind["kind"] == "choice"
    if is_choice and "options" in kind:
        # all options, in their own order
        axes.plot([str(_plain(option)) for option in kind["options"]], [float("nan")] * len(kind["options"]), label="_none")
    for state in ("completed", "stopped"):
        value = "forecast" if state == "stopped" else "score"
        found = [row for row in rows if row["state"] == state and row[value] is not None and row.get(f"param.{name}") is not None]
        at = [str(_plain(row[f"param.{name}"])) if is_choice else row[f"param.{name}"] for row in found]
        axes.scatter(at, [row[value] for row in found], s=14, alpha=0.7, color=COLORS[state], label=state if state == "completed" else "stopped: forecast")
    if kind["kind"] in ("log", "logint"):
        axes.set_xscale("log")
    axes.set_xlabel(name)


def _plain(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value
