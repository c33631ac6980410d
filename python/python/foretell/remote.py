"""Studies on a server, shared by several processes or machines."""

from __future__ import annotations

import json
import logging
import math
import os
import re
import socket
import threading
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, quote, urlsplit, urlunsplit

from ._local_server import address_of
from ._records import Best
from ._search import Search, Trial
from .space import Space, SpaceLike, listed
from .study import Study

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._settings import Direction, StudySettings

_log = logging.getLogger("foretell")

#: Seconds to wait for an answer, and seconds to retry a server that is gone.
_TIMEOUT, _PATIENCE = 60.0, 120.0
#: Seconds after which a missing server is announced.
_SAID = 10.0


class RemoteStudy(Search):
    """A study on a server. Create one with `foretell.connect`. It provides all methods of `Study`, and two more.

    >>> import foretell, tempfile
    >>> study = foretell.connect(tempfile.mkdtemp() + "/a", space={"x": foretell.float(0, 1)}, metric="acc", epochs=1, trials=2)
    >>> isinstance(study, foretell.RemoteStudy)
    True
    """

    _has_others = True
    _pause = 1.0

    def __init__(
        self, server: _Server, name: str, space: SpaceLike | None, settings: Mapping[str, Any], folder: Path | None = None, update: bool = False
    ) -> None:
        if name in (".", "..") or "/" in name or not name.isprintable():
            raise ValueError(f"the study {ascii(name)} cannot be joined: this is not the name of a folder")
        self.name, self.folder = name, folder
        self._begin_search(settings.get("checkpoints"))
        self._server, self._space = server, Space(space)
        self._address = f"/api/studies/{quote(name, safe='')}"
        given = {key: value for key, value in settings.items() if value is not None}
        if given.get("enqueue") is not None:
            given["enqueue"] = [self._space.queued(one) for one in listed(given["enqueue"])]
        if space is not None:
            given["space"] = self._space.written
        if given:
            server.call("PUT", self._address, {**given, "update": True} if update else given)
        self._done = False
        #: The lease and the trial of each trial in this process, by number.
        self._leases: dict[int, tuple[str, Trial]] = {}
        #: Trials of this process that the server gave to other workers.
        self._lost: set[int] = set()
        self._renewing: threading.Thread | None = None
        self._lock = threading.Lock()
        if isinstance(self._space.written, list):
            self._space.stored(self._view()["settings"]["space"])

    def _ask(self) -> Trial | None:
        # the server gives a worker its own trial again, and a process can run several: each gets a name
        worker = f"{socket.gethostname()}-{os.getpid()}-{uuid.uuid4().hex[:8]}"
        answer = self._server.call("POST", f"{self._address}/ask", {"worker": worker})
        self._done, start = answer["done"], answer["start"]
        if start is None:
            return None
        config = self._space.decoded(_whole(start["configuration"]))
        trial = Trial(self, start["trial"], config, start["seed"], start["from"], start["until"])
        with self._lock:
            self._leases[trial.number] = (start["lease"], trial)
            if self._renewing is None:
                every = max(0.05, start["lease_seconds"] / 3)
                self._renewing = threading.Thread(target=self._renew, args=(every,), daemon=True)
                self._renewing.start()
        return trial

    def _renew(self, every: float) -> None:
        """Renews the leases of the trials in this process, and takes the server's decisions."""
        while True:
            time.sleep(every)
            with self._lock:
                running = list(self._leases.items())
                if not running:
                    self._renewing = None
                    return
            for number, (lease, trial) in running:
                try:
                    answer = self._server.call("POST", f"{self._address}/trials/{number}/renew", {"lease": lease}, patience=0)
                except (OSError, LookupError, ValueError, RuntimeError):
                    continue  # the next report raises the error
                if answer["stop"] and not trial.stopped:
                    trial.stopped, trial.last = True, answer["decision"] or trial.last
                    trial.reason = "stopped by the study"

    def _held(self, trial: int) -> dict[str, str]:
        """The lease of a trial that this process has, as a field of a body."""
        lease = self._lease(trial)
        return {} if lease is None else {"lease": lease}

    def _begin(self, trial: int) -> None:
        self._server.call("POST", f"{self._address}/trials/{trial}/begin", {"after": 0, **self._held(trial)})

    def _report(self, trial: int, step: int, value: float, metrics: Mapping[str, float]) -> tuple[bool, dict[str, Any] | None]:
        body = {
            "step": step,
            "value": value if math.isfinite(value) else None,
            "metrics": {name: float(one) if math.isfinite(one) else None for name, one in metrics.items()},
            **self._held(trial),
        }
        try:
            answer = self._server.call("POST", f"{self._address}/trials/{trial}/report", body)
        except LostLease as error:
            # another worker runs it now, and further reports from here are ignored
            _log.warning("%s", error)
            self._leases.pop(trial, None)
            self._lost.add(trial)
            return True, None
        self._say_notices([(notice["text"], notice["is_warning"]) for notice in answer.get("notices", [])])
        return answer["stop"], answer["decision"]

    def _tell(self, trial: int, failure: str | None, returned: float | None) -> tuple[str, str] | None:
        return self._end(trial, {"failure": failure, "returned": returned})

    def _interrupt(self, trial: Trial) -> None:
        self._end(trial.number, {"handed_back": True})

    def _end(self, trial: int, how: Mapping[str, Any]) -> tuple[str, str] | None:
        """Ends a trial of this process, or hands it back."""
        if trial in self._lost:
            self._lost.discard(trial)
            return None
        lease = self._lease(trial)
        with self._lock:
            self._leases.pop(trial, None)
        body = {key: value for key, value in {"lease": lease, **how}.items() if value is not None}
        try:
            told = self._server.call("POST", f"{self._address}/trials/{trial}/tell", body)
        except LostLease as error:
            _log.warning("%s", error)
            return None
        self._done = told["done"]
        self._say_notices([(notice["text"], notice["is_warning"]) for notice in told.get("notices", [])])
        return tuple(told["relation"]) if told.get("relation") else None

    def _lease(self, trial: int) -> str | None:
        known = self._leases.get(trial)
        return None if known is None else known[0]

    def _stop(self, trial: int) -> None:
        self.stop(trial)

    def _enqueue(self, queued: Any) -> None:
        # the call may be sent again after a cut: the name makes the second one a copy
        self._server.call("POST", f"{self._address}/enqueue", {"configuration": queued, "id": uuid.uuid4().hex})

    def _view(self) -> dict[str, Any]:
        view = self._server.call("GET", f"{self._address}/view")["view"]
        for trial in view["trials"]:
            trial["config"] = self._space.decoded(trial["config"])
        return view

    @property
    def best(self) -> Best | None:
        """The best trial so far, as a dict of `trial`, `score` and `config`; `None` before the first result."""
        best = self._server.call("GET", f"{self._address}/best")["best"]
        if best is None:
            return None
        return {"trial": best["trial"], "score": best["score"], "config": self._space.decoded(_whole(best["configuration"]))}

    @property
    def done(self) -> bool:
        """Whether all trials have ended."""
        if not self._done:
            self._done = self._server.call("GET", f"{self._address}/best")["done"]
        return self._done

    @property
    def study_name(self) -> str:
        """The name of the study, as in Optuna."""
        return self.name

    def stop(self, trial: int | None = None) -> None:
        """Stops a trial. Without a number, ends `optimize` in this process after the trials that are running."""
        if trial is None:
            super().stop()
            return
        self._server.call("POST", f"{self._address}/trials/{trial}/stop", {})

    def keep(self, trial: int) -> None:
        """Protects a trial from being stopped."""
        self._server.call("POST", f"{self._address}/trials/{trial}/keep", {})

    def __repr__(self) -> str:
        return f"RemoteStudy({self._described(f'{self.name} at {self._server.address}')})"


class LostLease(RuntimeError):
    """The server gave the trial to another worker, because its reports took too long."""


class _Server:
    """A server's address and token."""

    def __init__(self, address: str, token: str | None, folder: Path | None = None) -> None:
        self.address, self._token, self._folder = address, token, folder
        self._lock = threading.Lock()

    def _look_up(self) -> None:
        """The server of a folder may have ended: its next one, which is started if there is none, has another address."""
        if self._folder is not None:
            with self._lock:
                self.address = address_of(self._folder)

    def call(self, method: str, path: str, body: Any = None, patience: float = _PATIENCE) -> Any:
        """The server's answer. Retries a server that is gone for a while; reports can safely arrive twice."""
        began, pause, is_said = time.monotonic(), 0.1, False
        while True:
            try:
                return self._once(method, path, body)
            except (urllib.error.URLError, ConnectionError, TimeoutError, _Busy) as error:
                reason, waited = getattr(error, "reason", error), time.monotonic() - began
                if waited > _SAID and not is_said:
                    is_said = True
                    _log.warning("cannot reach %s for %d seconds: %s. Trying again for %d seconds", self.address, waited, reason, patience)
                if isinstance(reason, ConnectionRefusedError) and patience > 0:
                    self._look_up()
                if waited + pause > patience:
                    raise ConnectionError(f"cannot reach {self.address}: {reason}. Check that `foretell serve` is running there") from None
                time.sleep(pause)
                pause = min(2 * pause, 5.0)

    def _once(self, method: str, path: str, body: Any) -> Any:
        data = None if body is None else json.dumps(body, default=_number).encode()
        headers = {"content-type": "application/json"}
        if self._token is not None:
            headers["authorization"] = f"Bearer {self._token}"
        request = urllib.request.Request(self.address + path, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=_TIMEOUT) as reply:
                return json.load(reply)
        except urllib.error.HTTPError as error:
            raise _refusal(error, self.address) from None


class _Busy(Exception):
    """The server cannot answer now."""


def _refusal(error: urllib.error.HTTPError, address: str) -> Exception:
    """The exception for a refused request."""
    try:
        problem = json.load(error)
        text, field = problem["error"], problem.get("field")
    except (ValueError, KeyError, TypeError):
        text, field = f"the answer has status {error.code}. Check that this is the address of `foretell serve`", None
    if error.code in (500, 503):
        return _Busy(text)
    if error.code in (401, 403):
        return PermissionError(f"{address}: {text}. Set token= or the environment variable FORETELL_TOKEN")
    if error.code == 404:
        return LookupError(text)
    if error.code == 409:
        return LostLease(text) if field == "lease" else RuntimeError(text)
    return ValueError(text)


def _number(value: Any) -> Any:
    return value.item()


def _whole(config: Mapping[str, Any]) -> dict[str, Any]:
    """A configuration from JSON, where integers arrive as floats."""
    return {name: int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 9e15 else value for name, value in config.items()}


def connect(
    address: str | os.PathLike[str],
    study: str | None = None,
    space: SpaceLike | None = None,
    *,
    token: str | None = None,
    metric: str | None = None,
    direction: Direction | None = None,
    epochs: int | None = None,
    trials: int | None = None,
    update: bool = False,
    **settings: Unpack[StudySettings],
) -> RemoteStudy:
    """Connects to a study shared by several processes. Start the same script once per worker.

    On one machine, pass a folder. The first process starts a server for it, which ends a few seconds after the last process. For several
    machines, start `foretell serve` and pass its address. If a worker dies, its trial moves to another worker.

    >>> import foretell, tempfile
    >>> folder = tempfile.mkdtemp() + "/rates"
    >>> study = foretell.connect(folder, space={"x": foretell.float(0, 1)}, metric="acc", epochs=1, trials=2)
    >>> study.optimize(lambda trial: trial.config["x"])
    >>> len(study)
    2

    Parameters
    ----------
    address
        The folder of the study, or the address printed by `foretell serve`.
    study
        The name of the study at an address (default: the only study).
    token
        The server's token (default: the token in the address, then the environment variable `FORETELL_TOKEN`).
    space, metric, direction, epochs, trials, settings
        The same as for `foretell.Study`. Without a space, the study must exist. If the study exists, settings that differ are an error.
    update
        Change the settings of an existing study for all its workers. The change is recorded in the log.
    """
    folder = _folder(address)
    if folder is not None:
        if study is not None:
            raise TypeError(f"cannot set study={study!r} for a folder. It contains one study, {folder.name!r}")
        address, study = address_of(folder), folder.name
    assert isinstance(address, str)
    parts = urlsplit(address if "://" in address else f"http://{address}")
    token = token or next(iter(parse_qs(parts.query).get("token", [])), None) or os.environ.get("FORETELL_TOKEN") or None
    before, marker, named = parts.path.rstrip("/").partition("/api/studies/")
    server = _Server(urlunsplit((parts.scheme, parts.netloc, before if marker else before.rstrip("/"), "", "")), token, folder)
    known = server.call("GET", "/api/studies", patience=0)["studies"]
    study = study or named or (known[0] if len(known) == 1 else None)
    if study is None:
        raise LookupError(f"study= is missing. Studies at {server.address}: {', '.join(known) or 'none'}")
    if study not in known and space is not None:
        # refuses wrong settings before there is a study
        of_server = ("learn_from", "burn_in") if "learn_from" in settings else ()
        local: Any = {name: value for name, value in settings.items() if name not in of_server}
        Study(space, metric=metric, direction=direction, epochs=epochs, trials=trials, **local)
    given: dict[str, Any] = {"metric": metric, "direction": direction, "epochs": epochs, "trials": trials, **settings}
    if study not in known:
        if space is None:
            there = f" Its studies: {', '.join(known)}." if known else ""
            raise LookupError(f"there is no study {study!r} at {server.address}.{there} To create it, pass a space")
    return RemoteStudy(server, study, space, given, folder, update)


def _folder(address: str | os.PathLike[str]) -> Path | None:
    """The folder that `address` names; `None` for the address of a server, with a scheme or a port."""
    if isinstance(address, str) and ("://" in address or (not os.path.isdir(address) and re.fullmatch(r"[^/]+:\d+(/.*)?|localhost", address))):
        return None
    return Path(address).absolute()
