import argparse
from catboost import CatBoostClassifier
from sklearn.datasets import load_digits
p = argparse.ArgumentParser(); p.add_argument("--learning_rate", type=float, default=.1); p.add_argument("--depth", type=int, default=4); p.add_argument("--iterations", type=int, default=12); a = p.parse_args()
X, y = load_digits(return_X_y=True)
c = CatBoostClassifier(learning_rate=a.learning_rate, depth=a.depth, iterations=a.iterations, eval_metric="Accuracy", thread_count=1, verbose=1, random_seed=0)
c.fit(X[:1200], y[:1200], eval_set=(X[1200:], y[1200:]))
for i, v in enumerate(c.get_evals_result()["validation"]["Accuracy"]): truth(v=v)
