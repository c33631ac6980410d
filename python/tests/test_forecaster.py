"""The forecaster: what it takes, what it answers, what it refuses."""

import doctest
import gc
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import types
import xml.dom.minidom

import foretell
import numpy as np
import pytest
from conftest import curve_of
from foretell import Forecaster


def test_forecasts_come_near_the_end_and_intervals_hold_it(forecaster):
    inside = 0
    for seed, rate in enumerate(np.geomspace(2e-4, 0.5, 40)):
        whole = curve_of(rate, 1000 + seed)
        forecast = forecaster.forecast(whole[:6], {"lr": rate})
        assert abs(forecast.mean - whole[-1]) < 0.06
        low, high = forecast.interval(0.9)
        inside += low <= whole[-1] <= high
    assert inside >= 30


def test_quantiles_and_probabilities_agree(forecaster):
    forecast = forecaster.forecast(curve_of(0.1)[:5], {"lr": 0.1})
    for p in (0.05, 0.3, 0.5, 0.9):
        assert forecast.prob_beats(forecast.quantile(p)) == pytest.approx(1 - p, abs=1e-6)
    low, high = forecast.interval(0.6)
    assert (low, high) == (forecast.quantile(0.2), forecast.quantile(0.8))
    assert forecast.std > 0


def test_a_loss_keeps_its_own_direction(recorded):
    losses = [1 - curve for curve in recorded[0]]
    forecaster = Forecaster.fit(losses, configs=recorded[1], metric="val_loss")
    assert forecaster.direction == "minimize"
    assert forecaster.best == pytest.approx(min(curve[-1] for curve in losses))
    forecast = forecaster.forecast(1 - curve_of(0.1)[:6], {"lr": 0.1})
    assert forecast.quantile(0.1) < forecast.mean < forecast.quantile(0.9)
    assert forecast.prob_beats(forecast.quantile(0.9)) == pytest.approx(0.9, abs=1e-6)


def test_every_form_of_the_same_runs_gives_the_same_forecast(recorded, tmp_path):
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    curves, configs = recorded
    wide = pandas.DataFrame(
        [{**config, **{f"acc_{i + 1}": v for i, v in enumerate(c)}} for c, config in zip(curves, configs)]
    )
    long = pandas.DataFrame(
        [
            {"run": run, **config, "epoch": epoch + 1, "acc": value}
            for run, (curve, config) in enumerate(zip(curves, configs))
            for epoch, value in enumerate(curve)
        ]
    )
    wide.to_csv(tmp_path / "wide.csv", index=False)
    forms = [
        Forecaster.fit(curves, configs=configs, metric="acc"),
        Forecaster.fit(np.array(curves), configs=configs, direction="maximize", metric="acc"),
        Forecaster.fit([list(curve) for curve in curves], configs=configs, metric="acc"),
        Forecaster.fit(
            [{"values": c, "configuration": k, "steps": range(1, 21)} for c, k in zip(curves, configs)], metric="acc"
        ),
        Forecaster.fit(wide),
        Forecaster.fit(long),
        Forecaster.fit(polars.from_pandas(wide)),
        Forecaster.fit(polars.from_pandas(long)),
        Forecaster.fit(tmp_path / "wide.csv"),
        Forecaster.fit(str(tmp_path / "wide.csv")),
    ]
    means = [form.forecast(curve_of(0.1)[:6], {"lr": 0.1}).mean for form in forms]
    assert means == pytest.approx([means[0]] * len(means), abs=1e-9)


def test_a_run_that_will_not_win_is_stopped_and_a_good_one_is_not(forecaster):
    bad = forecaster.decide(curve_of(0.9, 5)[:8], {"lr": 0.9})
    assert bad.stop and bad.probability > 0.99
    assert bad.reason.startswith("will not win: forecast 0.")
    good = forecaster.decide(curve_of(0.01, 5)[:8], {"lr": 0.01})
    assert not good.stop and good.reason.startswith("may win")
    assert not forecaster.decide(curve_of(0.9, 5)[:1], {"lr": 0.9}, agreeing_checks=2).stop
    assert not forecaster.decide(curve_of(0.9, 5)[:8], {"lr": 0.9}, offset=1.0).stop
    diverged = forecaster.decide([0.1, float("nan"), float("inf")], {"lr": 0.9})
    assert diverged.stop and "diverged" in diverged.reason
    assert not forecaster.decide([0.1, 0.2, float("nan")], {"lr": 0.9}).stop


def test_a_run_at_the_target_is_recorded(forecaster):
    forecast = forecaster.forecast(curve_of(0.1), {"lr": 0.1})
    assert forecast.recorded and forecast.std == 0 and forecast.mean == pytest.approx(curve_of(0.1)[-1])


def test_pickles_fit_the_same_models_in_another_process(forecaster):
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        there = pool.apply(mean_of, (forecaster, curve_of(0.1)[:6], {"lr": 0.1}))
    assert there == forecaster.forecast(curve_of(0.1)[:6], {"lr": 0.1}).mean


def mean_of(forecaster, curve, config):
    return forecaster.forecast(curve, config).mean


def test_forecasts_compare_and_pickle(forecaster):
    first, second, other = forecaster.forecast([0.1, 0.2]), forecaster.forecast([0.1, 0.2]), forecaster.forecast([0.1, 0.3])
    assert first == second and hash(first) == hash(second) and first != other and first != 0.5
    again = pickle.loads(pickle.dumps([first, other]))
    assert again == [first, other] and again[0].interval() == first.interval()


def test_a_pickle_keeps_gaps_divergence_and_columns(recorded):
    runs = [list(curve) for curve in recorded[0]]
    runs[0][5:] = [float("nan")] * 15
    runs[1][3] = float("nan")
    first = Forecaster.fit(runs, configs=recorded[1], direction="maximize", log_columns=["lr"], score="best")
    again = pickle.loads(pickle.dumps(first))
    assert (again.finished, again.best, again.target) == (first.finished, first.best, first.target)
    query = (curve_of(0.1)[:6], {"lr": 0.1})
    assert again.forecast(*query).mean == first.forecast(*query).mean


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_forecasts(forecaster):
    forecaster.forecast(curve_of(0.1)[:4], {"lr": 0.1})
    with multiprocessing.get_context("fork").Pool(1) as pool:
        asked = pool.apply_async(mean_of, (forecaster, curve_of(0.1)[:9], {"lr": 0.1}))
        there = asked.get(timeout=60)
    assert there == forecaster.forecast(curve_of(0.1)[:9], {"lr": 0.1}).mean


def test_other_threads_go_on_while_rust_works(recorded):
    slow = Forecaster.fit(recorded[0], configs=recorded[1], direction="maximize", predictor="random-forest")
    done = threading.Event()
    counted = 0

    def work():
        slow.forecast(curve_of(0.1)[:10], {"lr": 0.1})
        done.set()

    thread = threading.Thread(target=work)
    thread.start()
    while not done.is_set() and counted < 5:
        time.sleep(0.01)
        counted += 1
    thread.join()
    assert counted >= 3, "the fit took the interpreter, or less than 30 ms"


def test_ctrl_c_ends_a_long_fit():
    program = """
import numpy as np, foretell, sys
curves = np.cumsum(np.random.default_rng(0).random((600, 60)), axis=1)
forecaster = foretell.Forecaster.fit(curves, direction="maximize", predictor="random-forest")
print("ready", flush=True)
try:
    forecaster.forecast(curves[0][:30])
    print("finished", flush=True)
except KeyboardInterrupt:
    print("interrupted", flush=True)
    import os
    os._exit(0)
"""
    child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "ready\n"
    time.sleep(0.3)
    child.send_signal(signal.SIGINT)
    begun = time.monotonic()
    assert child.stdout.readline() == "interrupted\n"
    assert time.monotonic() - begun < 5
    child.wait(30)


def test_the_notebook_picture_is_svg(forecaster):
    for points in (1, 6, 20):
        picture = forecaster.forecast(curve_of(0.1)[:points], {"lr": 0.1})._repr_svg_()
        assert xml.dom.minidom.parseString(picture).documentElement.tagName == "svg"
        assert "nan" not in picture


@pytest.mark.parametrize("name", ["", *(name for name in foretell.__all__ if name != "__version__"), "float", "int"])
def test_each_public_name_has_an_example_that_holds(name):
    text = (getattr(foretell, name) if name else foretell).__doc__ or ""
    example = doctest.DocTestParser().get_doctest(text, {}, name or "foretell", None, None)
    assert example.examples, f"foretell.{name} has no example"
    assert doctest.DocTestRunner().run(example).failed == 0


def test_nothing_heavy_is_imported():
    heavy = "pandas polars sklearn optuna ray lightning transformers keras torch matplotlib".split()
    program = f"import sys, foretell; print([name for name in {heavy} if name in sys.modules])"
    assert subprocess.check_output([sys.executable, "-c", program], text=True).strip() == "[]"


def resident():
    """Resident memory of this process in bytes."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def growth_by_forecasts(recorded):
    """What 100,000 forecasts add: bytes of resident memory, references to their arguments, objects."""
    forecaster = Forecaster.fit(recorded[0], configs=recorded[1], direction="maximize")
    curve, config = curve_of(0.1)[:6], {"lr": 0.1}

    def ask(count):
        for _ in range(count):
            forecaster.forecast(curve, config).interval()
            forecaster.decide(curve, config)
        gc.collect()
        return np.array([resident(), sys.getrefcount(curve) + sys.getrefcount(config), len(gc.get_objects())])

    before = ask(10_000)
    return ask(100_000) - before


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="reads Linux's /proc")
def test_a_hundred_thousand_forecasts_leak_nothing(recorded):
    # in a process of its own: what other tests left behind (threads, kernels) grows and shrinks meanwhile
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        memory, references, objects = pool.apply(growth_by_forecasts, [recorded])
    # two forecasts a round: less than ten bytes each, so that no object is kept
    assert memory < 2 * 2**20
    assert references == 0
    assert objects < 100


BAD_RUNS = [
    (dict(runs=[["a", "b"]]), TypeError, "run 0 must be a list or array of numbers, not of text"),
    (dict(runs=[[1, 2], [3, [4]]]), ValueError, "run 1: "),
    (dict(runs=np.zeros((2, 3, 4))), ValueError, "shape (2, 3, 4)"),
    (dict(runs=np.zeros(3)), ValueError, "shape (3,)"),
    (dict(runs=7), TypeError, "not int"),
    (dict(runs=[{"x": 1}]), ValueError, "a dict without `values`"),
    (dict(runs=[]), ValueError, "nothing to learn from"),
    (dict(runs=[[float("nan")] * 3]), ValueError, "no run contains a finite value"),
    (dict(runs=np.array([[object()]], dtype=object)), TypeError, "object objects"),
    (dict(runs=[[0.1, 0.2]], configs=[]), ValueError, "1 runs but 0 configurations"),
    (dict(runs=[[0.1, 0.2]], configs=[{"lr": [1]}]), TypeError, "configuration value `lr` is of type list"),
    (dict(runs=[[0.1, 0.2]], configs=[{1: 2}]), TypeError, "must be strings"),
    (dict(runs=[[0.1, 0.2]], steps=[-1, 2]), ValueError, "step -1 is negative"),
    (dict(runs=[[0.1, 0.2]], steps=[2, 1]), ValueError, "must be finite and increase"),
    (dict(runs=[[0.1, 0.2]], steps=[1]), ValueError, "steps (1) and values (2) differ"),
    (dict(runs=[[0.1, 0.2]], direction="up"), ValueError, "Use 'maximize' or 'minimize'"),
    (dict(runs=[[0.1, 0.2]], direction=None), ValueError, "Set direction="),
    (dict(runs=[[0.1, 0.2]], predictor="magic"), ValueError, "unknown predictor `magic`"),
    (dict(runs=[[0.1, 0.2]], target=9), ValueError, "no run reaches step 9"),
    (dict(runs=[[0.1, 0.2]], scale="cubic"), ValueError, "Use 'linear' or 'log'"),
    (dict(runs=[[0.1, 0.2]], score="worst"), ValueError, "Choose last, best"),
    (dict(runs=[[0.1, 0.2]], colour="red"), TypeError, "unknown option 'colour'"),
    (dict(runs=[[0.1, 0.2]], id="run"), TypeError, "these runs are lists"),
    (dict(runs="no/such/file.csv"), ValueError, "no/such/file.csv"),
]


@pytest.mark.parametrize("given, kind, words", BAD_RUNS)
def test_runs_that_cannot_be_learned_from(given, kind, words):
    with pytest.raises(kind) as error:
        Forecaster.fit(**{"direction": "maximize", **given})
    assert words in str(error.value) and "\n" not in str(error.value)


BAD_CURVES = [
    (["a"], {}, TypeError, "curve must be a list or array of numbers"),
    ([[0.1]], {}, ValueError, "shape (1, 1)"),
    ([object()], {}, TypeError, "object objects"),
    ([], {}, ValueError, "nothing is observed yet"),
    ([float("nan")], {}, ValueError, "diverged at step 1"),
    ([0.1, float("inf")], {}, ValueError, "diverged at step 2"),
    ([0.1], {"steps": [-1]}, ValueError, "negative"),
    ([0.1], {"steps": ["x"]}, TypeError, "steps must be"),
    ([0.1, 0.2], {"steps": [1]}, ValueError, "steps (1) and values (2) differ"),
    ([0.1], {"config": {"lr": {}}}, TypeError, "`lr` is of type dict"),
    ([0.1], {"config": 3}, TypeError, ""),
]


@pytest.mark.parametrize("curve, more, kind, words", BAD_CURVES)
def test_curves_that_cannot_be_forecast(forecaster, curve, more, kind, words):
    with pytest.raises(kind) as error:
        print(forecaster.forecast(curve, **more))
    assert words in str(error.value) and "\n" not in str(error.value)


def test_other_bad_input(forecaster):
    forecast = forecaster.forecast([0.1, 0.2])
    for call, kind, words in [
        (lambda: forecast.quantile(1.5), ValueError, "outside (0, 1)"),
        (lambda: forecast.interval(0), ValueError, "outside (0, 1)"),
        (lambda: forecast.prob_beats(float("nan")), ValueError, "finite"),
        (lambda: forecaster.decide([0.1], stop_probability=0.2), ValueError, "outside [0.5, 1)"),
        (lambda: forecaster.decide([0.1], nth_best=0), ValueError, "nth_best is 0"),
        (lambda: forecaster.prepare(0), ValueError, "0 points"),
    ]:
        with pytest.raises(kind) as error:
            call()
        assert words in str(error.value)


def test_a_configuration_may_be_any_mapping(forecaster):
    config = types.MappingProxyType({"lr": 0.5})
    assert forecaster.forecast([0.1, 0.2], config).mean == forecaster.forecast([0.1, 0.2], dict(config)).mean
    assert forecaster.decide([0.1, 0.2], config).probability == forecaster.decide([0.1, 0.2], dict(config)).probability


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fork_while_another_thread_fits_leaves_a_child_that_works(recorded):
    fitted, over = Forecaster.fit(recorded[0], direction="maximize", predictor="random-forest"), threading.Event()

    def fit():
        while not over.is_set():
            for points in range(4, 18):
                Forecaster.fit(recorded[0], direction="maximize").prepare(points)
                fitted.forecast(recorded[0][0][:points])

    threads = [threading.Thread(target=fit) for _ in range(2)]
    [thread.start() for thread in threads]
    study = foretell.Study({"lr": "log:1e-4:1"}, metric="acc", epochs=3, trials=4)
    try:
        for _ in range(4):
            time.sleep(0.2)
            child = os.fork()
            if child == 0:
                signal.alarm(20)  # ends the child if it hangs
                ok = fitted.forecast([0.1, 0.2, 0.3]).mean < 1 and Forecaster.fit(recorded[0], direction="maximize").forecast([0.1]).mean < 1
                try:
                    study.ask()
                except RuntimeError as error:
                    ok = ok and "is a fork of it" in str(error)
                    os._exit(0 if ok else 1)
                os._exit(2)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    finally:
        over.set()
        [thread.join() for thread in threads]
    assert study.ask() is not None
