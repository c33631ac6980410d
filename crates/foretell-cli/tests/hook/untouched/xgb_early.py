import argparse, xgboost as xgb
from sklearn.datasets import load_digits
p = argparse.ArgumentParser(); p.add_argument("--learning_rate", type=float, default=.3); p.add_argument("--n_estimators", type=int, default=8); a = p.parse_args()
X, y = load_digits(return_X_y=True)
m = xgb.XGBClassifier(n_estimators=a.n_estimators, learning_rate=a.learning_rate, n_jobs=1, early_stopping_rounds=5, eval_metric=["mlogloss", "merror"]); m.fit(X[:1200], y[:1200], eval_set=[(X[:1200], y[:1200]), (X[1200:], y[1200:])], verbose=True)
for v in m.evals_result()["validation_1"]["merror"]: truth(v=v)
