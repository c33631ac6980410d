"""Only for `init`: the tables and logs that the script opens for writing, wherever they are."""
import os
import sys

from . import emit

_told = set()
ENDS = (".csv", ".tsv", ".jsonl", ".json", ".log", ".txt", ".ndjson")


def audit(event, arguments):
    if event == "open" and isinstance(arguments[0], str) and arguments[0].endswith(ENDS):
        try:
            path, mode, flags = arguments
            writes = set(mode) & set("wax+") if isinstance(mode, str) else (flags or 0) & (os.O_WRONLY | os.O_RDWR)
            if writes and path not in _told:
                _told.add(path)
                emit("file", source="open", path=os.path.abspath(path))
        except Exception:
            pass


sys.addaudithook(audit)
