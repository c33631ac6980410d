"""Only for `init`: the tables and logs that the script opens for writing, wherever they are."""
import os
import sys

emit = hook.emit  # noqa: F821
_told = {hook.PATH}  # noqa: F821
ENDS = (".csv", ".tsv", ".jsonl", ".json", ".log", ".txt", ".ndjson")
WRITING = os.O_WRONLY | os.O_RDWR
_absolute = os.path.abspath


def audit(event, arguments):
    if event == "open":
        try:
            path, mode, flags = arguments
            if type(path) is str and path.endswith(ENDS) and path not in _told:
                if set(mode) & set("wax+") if isinstance(mode, str) else (flags or 0) & WRITING:
                    _told.add(path)
                    emit("file", source="open", path=_absolute(path))
        except Exception:
            pass


sys.addaudithook(audit)
