import argparse, xgboost as xgb
from sklearn.datasets import load_digits
p = argparse.ArgumentParser(); p.add_argument("--eta", type=float, default=.3); p.add_argument("--max_depth", type=int, default=4); p.add_argument("--num_boost_round", type=int, default=8); a = p.parse_args()
X, y = load_digits(return_X_y=True)
r = {}
xgb.train(dict(objective="multi:softprob", num_class=10, eta=a.eta, max_depth=a.max_depth, nthread=1), xgb.DMatrix(X[:1200], y[:1200]), a.num_boost_round, evals=[(xgb.DMatrix(X[:1200], y[:1200]), "train"), (xgb.DMatrix(X[1200:], y[1200:]), "eval")], evals_result=r)
for v in r["eval"]["mlogloss"]: truth(v=v)
