"""Hears a metric in lines that a job logs or prints."""

from __future__ import annotations

import contextlib
import logging
import re
import sys
from collections.abc import Callable
from typing import Any


class Ears(logging.Handler):
    """Hears the metric in lines such as `val_acc=0.91` or `val_acc: 0.91`, and passes them on. It listens within `with`."""

    def __init__(self, metric: str, report: Callable[[float], None]) -> None:
        super().__init__()
        self._said = re.compile(rf"(?<![\w.-])[\"']?{re.escape(metric)}[\"']?\s*[=:]\s*([-+.\deE]+|nan|-?inf)\b")
        self._report, self._line = report, ""

    def __enter__(self) -> Ears:
        self._out = sys.stdout
        self._redirected = contextlib.redirect_stdout(self)  # type: ignore[type-var]
        self._redirected.__enter__()
        logging.getLogger().addHandler(self)
        return self

    def __exit__(self, *error: Any) -> None:
        logging.getLogger().removeHandler(self)
        self._redirected.__exit__(None, None, None)

    def emit(self, record: logging.LogRecord) -> None:
        """A line was logged."""
        self._hear(record.getMessage())

    def write(self, text: str) -> int:
        """Something was printed."""
        self._out.write(text)
        *lines, self._line = (self._line + text).split("\n")
        for line in lines:
            self._hear(line)
        return len(text)

    def _hear(self, line: str) -> None:
        found = self._said.search(line)
        if found is not None:
            self._report(float(found[1]))
