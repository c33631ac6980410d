"""The regressors in scikit-learn's company."""

import pickle

import numpy as np
import pytest

pytest.importorskip("sklearn")
from foretell.sklearn import CurveRegressor  # noqa: E402
from sklearn.base import clone  # noqa: E402
from sklearn.model_selection import GridSearchCV, cross_val_score  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402
from sklearn.utils.estimator_checks import parametrize_with_checks  # noqa: E402


@parametrize_with_checks([CurveRegressor("svr-rbf", draws=20), CurveRegressor("ridge"), CurveRegressor("auto"), CurveRegressor("mean-gain"), CurveRegressor("last-value")])
def test_it_is_a_regressor_by_scikit_learn_s_checks(estimator, check):
    check(estimator)


def table(recorded):
    curves, configs = recorded
    x = np.array([[*curve[:5], np.log10(config["lr"])] for curve, config in zip(curves, configs)])
    return x, np.array([curve[-1] for curve in curves])


def test_it_goes_into_a_pipeline_and_a_grid_search(recorded):
    x, y = table(recorded)
    model = make_pipeline(StandardScaler(), CurveRegressor("svr-linear", points=5, draws=20))
    assert cross_val_score(model, x, y, cv=3).min() > 0.9
    search = GridSearchCV(CurveRegressor(points=5, draws=20), {"predictor": ["last-value", "ridge"]}, cv=3)
    assert search.fit(x, y).best_params_ == {"predictor": "ridge"}


def test_deviations_clones_and_pickles(recorded):
    x, y = table(recorded)
    model = CurveRegressor("gp", points=5).fit(x[:40], y[:40])
    mean, std = model.predict(x[40:], return_std=True)
    assert np.all(std > 0) and np.mean(np.abs(mean - y[40:]) < 2 * std) > 0.7
    assert clone(model).get_params() == {"predictor": "gp", "points": 5, "seed": 0, "draws": None}
    assert np.array_equal(pickle.loads(pickle.dumps(model)).predict(x), model.predict(x))


def test_bad_input(recorded):
    x, y = table(recorded)
    with pytest.raises(ValueError, match="points must be from 1 to .*, not 9"):
        CurveRegressor(points=9).fit(x, y)
    with pytest.raises(ValueError, match="unknown predictor `magic`"):
        CurveRegressor("magic").fit(x, y)
    with pytest.raises(ValueError, match="NaN"):
        CurveRegressor().fit(np.full_like(x, np.nan), y)


def test_the_example_holds(examples_hold):
    import foretell.sklearn

    examples_hold(foretell.sklearn)
