import argparse, lightgbm as lgb
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
p = argparse.ArgumentParser(); p.add_argument("--learning-rate", type=float, default=.1); p.add_argument("--num-leaves", type=int, default=15); p.add_argument("--rounds", type=int, default=12); a = p.parse_args()
X, y = load_breast_cancer(return_X_y=True); X, V, y, w = train_test_split(X, y, random_state=0)
d = lgb.Dataset(X, y); e = d.create_valid(V, w); got = {}
lgb.train({"objective": "binary", "metric": "auc", "learning_rate": a.learning_rate, "num_leaves": a.num_leaves, "verbose": -1, "num_threads": 1}, d, a.rounds, valid_sets=[e], valid_names=["holdout"], callbacks=[lgb.log_evaluation(2), lgb.record_evaluation(got)])
for v in got["holdout"]["auc"]: truth(v=v)
