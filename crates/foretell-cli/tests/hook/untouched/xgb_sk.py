import argparse, xgboost as xgb
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
p = argparse.ArgumentParser(); p.add_argument("--eta", type=float, default=.3); p.add_argument("--max_depth", type=int, default=4); p.add_argument("--n_estimators", type=int, default=15); a = p.parse_args()
X, y = load_breast_cancer(return_X_y=True); X, V, y, w = train_test_split(X, y, random_state=0)
m = xgb.XGBClassifier(learning_rate=a.eta, max_depth=a.max_depth, n_estimators=a.n_estimators, eval_metric=["error", "auc"], early_stopping_rounds=10, nthread=1)
m.fit(X, y, eval_set=[(X, y), (V, w)], verbose=False)
for v in m.evals_result()["validation_1"]["auc"]: truth(v=v)
