import argparse, lightgbm as lgb
from sklearn.datasets import load_digits
p = argparse.ArgumentParser(); p.add_argument("--learning_rate", type=float, default=.1); p.add_argument("--num_leaves", type=int, default=15); p.add_argument("--n_estimators", type=int, default=12); a = p.parse_args()
X, y = load_digits(return_X_y=True)
c = lgb.LGBMClassifier(learning_rate=a.learning_rate, num_leaves=a.num_leaves, n_estimators=a.n_estimators, n_jobs=1, verbose=-1)
c.fit(X[:1200], y[:1200], eval_set=[(X[1200:], y[1200:])], eval_metric=["multi_logloss", "multi_error"], callbacks=[lgb.log_evaluation(0)])
for i, v in enumerate(c.evals_result_["valid_0"]["multi_error"]): truth(epoch=i + 1, v=v)
