"""Keeps workers of a Foretell study in actors of Ray. `foretell search --on ray` starts it, and writes how many it wants on its
standard input; when that ends, so do the workers."""

import argparse
import os
import signal
import subprocess
import sys
import threading
import time

try:
    import ray
except ImportError:
    sys.exit("this Python has no Ray: pip install ray, or name another Python by FORETELL_PYTHON")

parser = argparse.ArgumentParser()
parser.add_argument("foretell")
parser.add_argument("study")
parser.add_argument("--address")
parser.add_argument("--cpus", type=float, default=1)
parser.add_argument("--gpus", type=float, default=0)
args = parser.parse_args()


class Worker:
    """One `foretell worker`. An actor that is killed takes it along: the worker ends with its standard input's owner."""

    def __init__(self, words, folder):
        self.process = subprocess.Popen(words, cwd=folder, start_new_session=True)

    def run(self):
        """Waits for the worker to end."""
        return self.process.wait()

    def leave(self):
        """Asks the worker to hand back its trial, and waits for that."""
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
        return True


wanted, over = 0, threading.Event()


def listen():
    global wanted
    for line in sys.stdin:
        wanted = int(line)
    over.set()


# SIGINT is for the search, which then ends this program in its own time
signal.signal(signal.SIGINT, signal.SIG_IGN)
ray.init(address=args.address, namespace="foretell", include_dashboard=args.address is not None, log_to_driver=False)
Actor = ray.remote(num_cpus=args.cpus, num_gpus=args.gpus, max_restarts=0, max_concurrency=2)(Worker)
threading.Thread(target=listen, daemon=True).start()
words = [args.foretell, "worker", args.study, "--idle-exit", "60s"]
running = {}
while not over.wait(1):
    ended, _ = ray.wait(list(running), num_returns=max(1, len(running)), timeout=0) if running else ([], [])
    for task in ended:
        running.pop(task)  # its node may have died: another actor takes its place
    while len(running) < wanted:
        actor = Actor.options(name=f"foretell-{os.getpid()}-{time.monotonic_ns()}").remote(words, os.getcwd())
        running[actor.run.remote()] = actor
leaving = [actor.leave.remote() for actor in running.values()]
ray.wait(leaving, num_returns=len(leaving), timeout=22) if leaving else None
for actor in running.values():
    ray.kill(actor)
ray.shutdown()
