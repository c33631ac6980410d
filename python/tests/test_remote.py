"""Studies behind `foretell serve`: several processes work on one, with a token, and through a server that goes away."""

import os
import re
import subprocess
import sys
import time

import foretell
import pytest
from conftest import curve_of

SPACE = {"lr": foretell.log(1e-4, 1), "bias": foretell.choice(True, False)}
HOW = {"metric": "val_acc", "epochs": 20, "trials": 12, "policy": "srm", "burn_in": 4, "sampler": "random"}
WORKER = """
import sys
sys.path.insert(0, {tests!r})
import foretell
from conftest import curve_of
def objective(trial):
    values = curve_of(trial.config["lr"], trial.number)
    for epoch in trial.epochs():
        trial.report(values[epoch - 1], epoch)
    print("trained", trial.number)
foretell.connect({address!r}, "rates").optimize(objective)
"""


def objective(trial):
    assert isinstance(trial.config["bias"], bool)
    values = curve_of(trial.config["lr"], trial.number)
    for epoch in trial.epochs():
        trial.report(values[epoch - 1], epoch)


class Server:
    """A server on a port of its own."""

    def __init__(self, folder, *words):
        folder.mkdir()
        self.words = [sys.executable, "-m", "foretell", "serve", str(folder), *words]
        self.start("127.0.0.1:0")

    def start(self, address):
        self.process = subprocess.Popen(
            [*self.words, "--address", address], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        for line in self.process.stdout:
            if found := re.search(r"http://\S+", line):
                self.address = found.group().rstrip(".,;")
                return
        raise AssertionError("the server did not start")

    def end(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


@pytest.fixture
def server(tmp_path):
    server = Server(tmp_path / "runs")
    yield server
    server.end()


def test_a_served_study_is_that_of_one_process(server, tmp_path):
    remote = foretell.connect(server.address, "rates", SPACE, **HOW)
    remote.optimize(objective)
    alone = foretell.Study(SPACE, **HOW)
    alone.optimize(objective)
    assert remote.done and remote.trials == alone.trials and remote.best == alone.best
    rows = remote.frame("dicts")
    assert all(row["seconds"] is not None for row in rows), "the server knows how long a trial took"
    timeless = [{**row, "began": None, "seconds": None} for row in rows]
    assert timeless == alone.frame("dicts") and remote.settings == alone.settings
    assert repr(remote).startswith("RemoteStudy(rates at http://127.0.0.1:")
    assert foretell.load(tmp_path / "runs", "dicts").trials[0]["trial"] == 0
    assert foretell.Forecaster.fit(remote).best == pytest.approx(alone.best["score"])


def test_several_processes_work_on_one_study(server, tmp_path):
    foretell.connect(server.address, "rates", SPACE, **HOW)
    script = WORKER.format(tests=os.path.dirname(__file__), address=server.address)
    workers = [subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) for _ in range(3)]
    said = [worker.communicate(timeout=120)[0] for worker in workers]
    assert all(worker.returncode == 0 for worker in workers)
    trained = [int(line.split()[1]) for text in said for line in text.splitlines()]
    assert sorted(trained) == list(range(12)), "each trial has one worker"
    assert foretell.connect(server.address).done


def test_a_token_is_needed_and_found_in_the_address(tmp_path, monkeypatch):
    server = Server(tmp_path / "runs", "--token", "secret-word")
    try:
        bare = server.address.split("?")[0]
        with pytest.raises(PermissionError, match="Set token="):
            foretell.connect(bare, "rates", SPACE, **HOW)
        study = foretell.connect(bare, "rates", SPACE, token="secret-word", **HOW)
        assert study.ask().number == 0
        assert foretell.connect(f"{bare}?token=secret-word").settings["trials"] == 12
        monkeypatch.setenv("FORETELL_TOKEN", "secret-word")
        assert foretell.connect(f"{bare}api/studies/rates" if bare.endswith("/") else f"{bare}/api/studies/rates").name == "rates"
    finally:
        server.end()


def test_a_server_that_is_started_anew_goes_on(server):
    study = foretell.connect(server.address, "rates", SPACE, **HOW)
    trial = study.ask()
    trial.report(0.1)
    port = re.search(r":(\d+)", server.address.split("//")[1]).group(1)
    server.end()
    server.start(f"127.0.0.1:{port}")
    trial.report(0.2)
    trial.tell()
    assert study.trials[0]["values"] == [0.1, 0.2]


def test_orders_by_hand(server):
    study = foretell.connect(server.address, "rates", SPACE, **HOW)
    first = study.ask()
    first.report(0.5)
    study.stop(first.number)
    assert first.report(0.6) and first.stopped
    first.tell()
    assert study.trials[0]["state"] == "stopped"


def test_what_is_enqueued_comes_next(server):
    study = foretell.connect(server.address, "rates", SPACE, **HOW)
    study.enqueue({"lr": 0.25})
    assert study.ask().config["lr"] == 0.25
    with pytest.raises(ValueError, match="which is outside"):
        study.enqueue({"lr": 7.0})


def test_the_trial_of_a_silent_worker_goes_to_another(tmp_path):
    server = Server(tmp_path / "runs", "--lease", "1s")
    try:
        study = foretell.connect(server.address, "rates", SPACE, **HOW)
        kept = study.ask()
        time.sleep(2.5)
        other = foretell.connect(server.address, "rates", SPACE)
        assert other.ask().number != kept.number, "who renews keeps its trial"
        # as if the process had been stopped for a while
        held = dict(study._leases)
        study._leases.clear()
        time.sleep(2.5)
        taken = [other.ask().number for _ in range(2)]
        assert kept.number in taken
        study._leases.update(held)
        # nobody else has reported: the late report counts, and the trial moves back
        assert not kept.report(0.5)
        assert other.trials[kept.number]["state"] == "running" and other.trials[kept.number]["values"] == [0.5]
    finally:
        server.end()


def test_what_is_wrong_is_said(server):
    foretell.connect(server.address, "rates", SPACE, **HOW)
    for call, kind, words in [
        (lambda: foretell.connect(server.address, "other"), LookupError, "Its studies: rates. To create it, pass a space"),
        (lambda: foretell.connect(server.address, "../rates", SPACE, **HOW), ValueError, "'../rates' cannot be joined: this is not the name of a folder"),
        (lambda: foretell.connect(server.address, "\udc80", SPACE, **HOW), ValueError, r"'\udc80' cannot be joined"),
        (lambda: foretell.connect("127.0.0.1:1", "rates"), ConnectionError, "Check that `foretell serve` is running there"),
        (lambda: foretell.connect(server.address, "rates", {"x": "int:1:2"}), RuntimeError, "a different study exists. The request differs in: space"),
        (lambda: foretell.connect(server.address, "rates").report(7, 1, 0.5), (LookupError, ValueError), "no ask has returned it"),
    ]:
        with pytest.raises(kind) as error:
            call()
        assert words in str(error.value)


def test_settings_that_differ_are_refused_with_both_values_unless_they_are_meant(server):
    foretell.connect(server.address, "rates", SPACE, **HOW)
    foretell.connect(server.address, "rates", SPACE, **HOW)  # the same
    for change, words in [
        ({"epochs": 30}, "epochs: the study has 20, but this request has 30"),
        ({"trials": 40}, "trials: the study has 12, but this request has 40"),
        ({"burn_in": 5}, "burn_in: the study has 4, but this request has 5"),
    ]:
        with pytest.raises(RuntimeError, match=re.escape(words)):
            foretell.connect(server.address, "rates", SPACE, **{**HOW, **change})
    study = foretell.connect(server.address, "rates", SPACE, **{**HOW, "trials": 14}, update=True)
    assert study.settings["trials"] == 14
    assert foretell.connect(server.address, "rates").settings["trials"] == 14


def test_a_study_that_learned_from_another_is_joined_by_the_same_call(server):
    foretell.connect(server.address, "first", SPACE, **HOW).optimize(objective)
    for _ in range(2):
        foretell.connect(server.address, "second", SPACE, **HOW, learn_from=["first"])
