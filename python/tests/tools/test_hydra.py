"""The Hydra sweeper in a real multirun."""

import re
import subprocess
import sys
import textwrap

import pytest

pytest.importorskip("hydra")

TRAIN = """
    import logging, math, hydra
    from omegaconf import DictConfig

    @hydra.main(version_base=None)
    def train(config: DictConfig) -> float:
        score = 0.0
        for epoch in range(1, 11):
            bonus = 0.05 if config["act"] == "relu" else 0.0
            score = (1 - 0.25 * abs(math.log10(config["lr"]) + 1)) * (1 - 0.6**epoch) + bonus - 0.01 * config["layers"]
            {say}
            with open("../../epochs", "a") as file:
                print(epoch, file=file)
        return score

    train()
"""
SAY = {"prints": 'print(f"epoch {epoch}: loss 0.3, val_acc={score:.6f}")', "logs": 'logging.getLogger("x").info("val_acc: %s", score)', "returns": "pass"}


@pytest.mark.parametrize("how", SAY)
def test_a_multirun_searches_the_space_and_stops_jobs_that_will_not_win(how, tmp_path):
    (tmp_path / "train.py").write_text(textwrap.dedent(TRAIN).replace("{say}", SAY[how]))
    words = [
        "-m", "hydra/sweeper=foretell", "hydra.sweeper.metric=val_acc", f"hydra.sweeper.epochs={1 if how == 'returns' else 10}",
        "hydra.sweeper.trials=14", "hydra.sweeper.settings={sampler:random,seed:3}", "hydra.sweep.dir=sweep", "hydra.job.chdir=true",
        "+lr=tag(log,interval(1e-4,1e-1))", "+layers=int(interval(1,4))", "+act=choice(relu,tanh)",
    ]  # fmt: skip
    ran = subprocess.run([sys.executable, "train.py", *words], cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert ran.returncode == 0, ran.stderr[-2000:]
    import foretell

    trials = foretell.load(tmp_path / "sweep" / "foretell", "dicts").trials
    assert len(trials) == 14 and {trial["param.act"] for trial in trials} == {"relu", "tanh"}
    epochs = len((tmp_path / "epochs").read_text().splitlines())
    assert {trial["param.layers"] for trial in trials} <= {1, 2, 3, 4}
    stopped = [trial["state"] for trial in trials].count("stopped")
    assert (stopped > 2 and epochs < 140) if how != "returns" else (stopped == 0 and epochs == 140)
    best = re.search(r"best_evaluated_result: ([\d.]+)", (tmp_path / "sweep" / "optimization_results.yaml").read_text())
    assert float(best[1]) == pytest.approx(max(trial["score"] for trial in trials if trial["state"] == "completed"))
