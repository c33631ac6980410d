"""The server of one study's folder on this machine: started by the first process that connects, ended after the last."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import IO, Any

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None  # type: ignore[assignment]

#: The files that record a folder's server address, the processes that use the server, and the one that starts it.
_ADDRESS, _USERS, _START = "server.json", "server.users", "server.start"
#: Seconds without a user after which a server ends, and for which its start is awaited.
_IDLE, _PATIENCE = 5.0, 60.0

#: Held open as long as this process runs: who holds it uses the server.
_held: dict[Path, IO[str]] = {}


def address_of(folder: Path) -> str:
    """The address of the server of the study in `folder`, which is started if there is none."""
    if fcntl is None:
        raise OSError("connect(folder) requires Unix. Start `foretell serve`, and pass its address instead")
    folder.mkdir(parents=True, exist_ok=True)
    if folder not in _held:
        _held[folder] = open(folder / _USERS, "a")  # noqa: SIM115
        fcntl.flock(_held[folder], fcntl.LOCK_SH)
    with open(folder / _START, "a") as start:
        fcntl.flock(start, fcntl.LOCK_EX)
        return _running(folder) or _started(folder)


def _running(folder: Path) -> str | None:
    """The address of a server that answers."""
    try:
        said: dict[str, Any] = json.loads((folder / _ADDRESS).read_text())
    except (OSError, ValueError):
        return None
    host, port = said["address"].removeprefix("http://").split(":")
    try:
        socket.create_connection((host, int(port)), 2.0).close()
    except OSError:
        if said["host"] != socket.gethostname():
            raise ConnectionError(
                f"the server of {folder} runs on {said['host']}, and only processes there can reach it. To use several machines, start "
                "`foretell serve` and pass its address"
            ) from None
        return None
    return str(said["address"])


def _started(folder: Path) -> str:
    (folder / _ADDRESS).unlink(missing_ok=True)
    with open(folder / "server.log", "w") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "foretell._local_server", str(folder)],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
        )  # fmt: skip
    until = time.monotonic() + _PATIENCE
    while time.monotonic() < until and process.poll() is None:
        if (address := _running(folder)) is not None:
            return address
        time.sleep(0.05)
    raise ConnectionError(f"the server of {folder} did not start. Its output: {(folder / 'server.log').read_text().strip() or 'none'}")


def _serve(folder: Path) -> None:
    """Runs a server until nobody has used the folder for some seconds."""
    server = subprocess.Popen(
        [sys.executable, "-m", "foretell", "serve", str(folder.parent), "--address", "127.0.0.1:0"],
        stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert server.stderr is not None
    line = server.stderr.readline()
    found = re.search(r"http://[^/?\s]+", line)
    if found is None:
        sys.exit(line.strip())
    said = {"address": found[0], "host": socket.gethostname(), "process": os.getpid()}
    beside = folder / f"{_ADDRESS}.new"
    beside.write_text(json.dumps(said))
    beside.replace(folder / _ADDRESS)
    with open(folder / _USERS, "a") as users:
        unused = 0.0
        while unused < _IDLE and server.poll() is None:
            time.sleep(0.5)
            unused = unused + 0.5 if _is_free(users) else 0.0
    (folder / _ADDRESS).unlink(missing_ok=True)
    server.send_signal(signal.SIGINT)


def _is_free(users: IO[str]) -> bool:
    try:
        fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    fcntl.flock(users, fcntl.LOCK_UN)
    return True


if __name__ == "__main__":
    _serve(Path(sys.argv[1]))
