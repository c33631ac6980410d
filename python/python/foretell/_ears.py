"""Hears a metric in lines that a job logs or prints."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from typing import Any


class Ears(logging.Handler):
    """Hears the metric in lines that are logged or printed, and passes them on."""

    def __init__(self, metric: str, report: Callable[[float], None], out: Any) -> None:
        super().__init__()
        self._said = re.compile(rf"(?<![\w.-])[\"']?{re.escape(metric)}[\"']?\s*[=:]\s*([-+.\deE]+|nan|-?inf)\b")
        self._report, self._out, self._line = report, out, ""

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
