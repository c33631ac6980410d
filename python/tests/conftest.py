"""Made-up runs whose ends are known."""

import doctest
import os

import numpy as np
import pytest


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """Where a tool's tests are asked for by name, one that is left out is one that failed: see scripts/test-python."""
    report = yield
    if report.skipped and os.environ.get("FORETELL_NO_SKIPS"):
        report.outcome, report.longrepr = "failed", f"left out: {report.longrepr}"
    return report


def curve_of(rate, seed=0, epochs=20):
    """An accuracy that ends the higher the nearer the rate is to 0.01."""
    noise = np.random.default_rng(seed).normal(0, 0.004, epochs)
    return (0.9 - 0.3 * abs(np.log10(rate) + 2)) * (1 - 0.75 ** np.arange(1, epochs + 1)) + noise


@pytest.fixture(scope="session")
def recorded():
    """(curves, configurations) of sixty runs."""
    rates = 10 ** np.random.default_rng(1).uniform(-4, 0, 60)
    return [curve_of(rate, seed) for seed, rate in enumerate(rates)], [{"lr": float(rate)} for rate in rates]


@pytest.fixture(scope="session")
def forecaster(recorded):
    """Fitted on them."""
    from foretell import Forecaster

    return Forecaster.fit(recorded[0], configs=recorded[1], direction="maximize")


@pytest.fixture
def examples_hold():
    """Checks the examples in the docstrings of a module."""

    def check(module):
        found = [test for test in doctest.DocTestFinder().find(module) if test.examples]
        assert found, f"{module.__name__} has no example"
        for test in found:
            assert doctest.DocTestRunner().run(test).failed == 0

    return check
