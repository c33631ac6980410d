import argparse, lightgbm as lgb
from sklearn.datasets import load_breast_cancer
p = argparse.ArgumentParser(); p.add_argument("--learning_rate", type=float, default=.1); p.add_argument("--num_leaves", type=int, default=15); p.add_argument("--rounds", type=int, default=10); a = p.parse_args()
X, y = load_breast_cancer(return_X_y=True); t = lgb.Dataset(X[:400], y[:400]); r = {}
lgb.train(dict(objective="binary", metric="auc", learning_rate=a.learning_rate, num_leaves=a.num_leaves, verbose=-1, num_threads=1), t, a.rounds, valid_sets=[t.create_valid(X[400:], y[400:])], valid_names=["valid"], callbacks=[lgb.log_evaluation(1), lgb.record_evaluation(r)])
for v in r["valid"]["auc"]: truth(v=v)
