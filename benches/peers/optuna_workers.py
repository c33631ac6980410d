"""Many workers on one study: Foretell's server next to Optuna with PostgreSQL, on the same work, as ratios.

    python3 benches/peers/optuna_workers.py [WORKERS TRIALS EPOCHS]    default: 100 400 60; some minutes

Every worker asks for a trial, reports EPOCHS values, asks after each whether to stop, and tells the end; trainings take no time, nothing is
stopped, configurations are random. Foretell's part is `cargo run --release -p foretell-serve --example many_workers`. Optuna's workers are
threads of eight processes, each with a connection of its own to a PostgreSQL that this script starts in a temporary folder, with its default
settings and once more with `synchronous_commit=off`. Needs `pip install optuna psycopg2-binary` and PostgreSQL's programs (Debian:
`postgresql`; as root they run as the user postgres).
"""

import glob
import multiprocessing
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import optuna
from optuna.storages import RDBStorage

HERE = pathlib.Path(__file__).resolve().parent.parent.parent
PROCESSES = 8
PORT = 15432
optuna.logging.set_verbosity(optuna.logging.ERROR)


def quantile(values, share):
    return sorted(values)[int((len(values) - 1) * share)]


def foretell(workers, trials, epochs):
    """Reports a second, and the median and 99th percentile of the time from a report to its decision, in milliseconds."""
    words = ["cargo", "run", "--release", "-q", "-p", "foretell-serve", "--example", "many_workers", "--"]
    words = [os.environ["MANY_WORKERS"]] if "MANY_WORKERS" in os.environ else words
    said = subprocess.run([*words, str(workers), str(trials), str(epochs)], cwd=HERE, capture_output=True, text=True, check=True).stdout
    unit = {"µs": 1e-3, "ms": 1.0, "s": 1e3}
    times = [float(number) * unit[name] for number, name in re.findall(r"p\d\d ([\d.]+)(µs|ms|s)", said)]
    return float(re.search(r"(\d+) reports/s", said)[1]), *times


class Postgres:
    """A server in a temporary folder."""

    def __init__(self, connections, commit):
        found = sorted(glob.glob("/usr/lib/postgresql/*/bin")) or [os.path.dirname(shutil.which("initdb") or sys.exit("no initdb: install PostgreSQL"))]
        self.programs = pathlib.Path(found[-1])
        self.folder = tempfile.mkdtemp(prefix="foretell-postgres-")
        self.user = {"user": "postgres"} if os.geteuid() == 0 else {}
        if self.user:
            shutil.chown(self.folder, "postgres")
        self.run("initdb", "-D", f"{self.folder}/data", "-U", "optuna", "-A", "trust")
        words = ["-D", f"{self.folder}/data", "-p", str(PORT), "-k", self.folder, "-c", f"max_connections={connections}"]
        self.server = subprocess.Popen(
            [self.programs / "postgres", *words, "-c", f"synchronous_commit={commit}", "-c", "listen_addresses=127.0.0.1"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/", **self.user)
        until = time.time() + 60
        while self.run("createdb", "-h", "127.0.0.1", "-p", str(PORT), "-U", "optuna", "study", check=False):
            assert time.time() < until, "PostgreSQL does not answer"
            time.sleep(0.5)
        self.address = f"postgresql+psycopg2://optuna@127.0.0.1:{PORT}/study"

    def run(self, program, *words, check=True):
        done = subprocess.run([self.programs / program, *words], capture_output=True, text=True, cwd="/", **self.user)
        if check and done.returncode:
            sys.exit(done.stderr)
        return done.returncode

    def end(self):
        # a fast shutdown, which waits for no client
        self.server.send_signal(signal.SIGINT)
        self.server.wait(timeout=60)
        shutil.rmtree(self.folder, ignore_errors=True)


def storage_of(address, threads):
    return RDBStorage(address, engine_kwargs={"pool_size": threads + 2, "max_overflow": 2}, skip_compatibility_check=True)


def crew(address, threads, most, taken, ready, epochs, results):
    """The workers of one process."""
    storage, times, errors = storage_of(address, threads), [], []

    def work():
        study = optuna.load_study(study_name="study", storage=storage, sampler=optuna.samplers.RandomSampler(), pruner=optuna.pruners.NopPruner())
        # all begin together
        ready.wait()
        while True:
            with taken.get_lock():
                if taken.value >= most:
                    return
                taken.value += 1
            trial = study.ask()
            lr = trial.suggest_float("lr", 1e-4, 1, log=True)
            for step in range(1, epochs + 1):
                value, begun = lr * (1 - 0.9**step), time.perf_counter()
                trial.report(value, step)
                trial.should_prune()
                times.append(time.perf_counter() - begun)
            study.tell(trial, value)

    def tried():
        try:
            work()
        except Exception as error:
            ready.abort()
            errors.append(repr(error)[:300])

    crew = [threading.Thread(target=tried) for _ in range(threads)]
    for thread in crew:
        thread.start()
    for thread in crew:
        thread.join()
    results.put((times, errors))


def peer(workers, trials, epochs, commit):
    server = Postgres(workers + 8 * PROCESSES, commit)
    try:
        optuna.create_study(study_name="study", storage=storage_of(server.address, 1), direction="maximize")
        results, taken, ready = multiprocessing.Queue(), multiprocessing.Value("q", 0), multiprocessing.Barrier(workers + 1)
        each = [workers // PROCESSES + (at < workers % PROCESSES) for at in range(PROCESSES)]
        crews = [multiprocessing.Process(target=crew, args=(server.address, threads, trials, taken, ready, epochs, results)) for threads in each if threads]
        for process in crews:
            process.start()
        ready.wait()
        begun = time.time()
        answers = [results.get() for _ in crews]
        took = time.time() - begun
        for process in crews:
            process.join()
        times = [one for own, _ in answers for one in own]
        errors = [error for _, own in answers for error in own]
        assert not errors, f"{len(errors)} of {workers} workers failed: {errors[0]}"
        assert len(times) == trials * epochs, (len(times), trials * epochs)
        return len(times) / took, quantile(times, 0.5) * 1e3, quantile(times, 0.99) * 1e3
    finally:
        server.end()


def main():
    workers, trials, epochs = map(int, sys.argv[1:4]) if len(sys.argv) > 3 else (100, 400, 60)
    version = subprocess.run(["postgres", "--version"], capture_output=True, text=True).stdout.split()[2:3]
    print(f"{workers} workers, {trials} trials of {epochs} reports; Optuna {optuna.__version__}, PostgreSQL {''.join(version)}, {os.cpu_count()} cores")
    own = foretell(workers, trials, epochs)
    print(f"{'':28} reports/s      p50       p99   reports/s, Foretell's ÷ this", flush=True)
    print(f"{'foretell':28} {own[0]:9.0f} {own[1]:7.2f} ms {own[2]:6.1f} ms", flush=True)
    for commit in ["on", "off"]:
        rate, middle, high = peer(workers, trials, epochs, commit)
        print(f"{'optuna, synchronous_commit=' + commit:28} {rate:9.0f} {middle:7.2f} ms {high:6.1f} ms   {own[0] / rate:.0f}", flush=True)


if __name__ == "__main__":
    main()
