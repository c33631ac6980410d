"""Values of any kind as numbers and texts."""

from __future__ import annotations

import re
import reprlib
from collections.abc import Mapping
from typing import Any

from ._foretell import direction_of

#: Texts for values that are neither numbers nor text, short whatever they contain.
_SHORT = reprlib.Repr()
_SHORT.maxtuple = _SHORT.maxlist = _SHORT.maxdict = _SHORT.maxset = _SHORT.maxfrozenset = 50
_SHORT.maxstring = _SHORT.maxother = 200


def plain(config: Mapping[str, Any] | None, prefix: str = "") -> dict[str, Any]:
    """A configuration as numbers, texts and `None`: nested settings as `outer.inner`; lists, classes and other objects as a text that
    tells them apart in every process."""
    flat: dict[str, Any] = {}
    for name, value in (config or {}).items():
        if isinstance(value, Mapping):
            flat.update(plain(value, f"{prefix}{name}."))
        else:
            flat[f"{prefix}{name}"] = value if value is None or isinstance(value, (bool, str)) else cell(value)
    return flat


def cell(value: Any) -> float | str:
    """A number, or a text."""
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError, RuntimeError):
        pass
    if isinstance(value, type) or (callable(value) and hasattr(value, "__qualname__")):
        return f"{value.__module__}.{value.__qualname__}"
    # an object's address differs from process to process
    return re.sub(r" at 0x[0-9a-fA-F]+", "", _SHORT.repr(value))


def agreed(direction: str | None, own: str | None, what: str) -> str | None:
    """The direction of `what`: `own` if it has one. Another `direction` is an error, because the worst runs would count as the best."""
    if direction is not None and own is not None and direction != own:
        raise ValueError(f"{what} has the direction {own!r}, but direction={direction!r}. Choose runs of the same direction")
    return own or direction


def direction_for(metric: str | None, direction: str | None) -> str:
    """The direction: `direction` if set, otherwise inferred from the metric's name."""
    if direction is None and metric is not None:
        direction = direction_of(metric)
    if direction is None:
        raise ValueError("cannot infer the direction from the metric's name. Set direction='maximize' or direction='minimize'")
    return direction
