import argparse
from catboost import CatBoostClassifier, Pool
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
p = argparse.ArgumentParser(); p.add_argument("--lr", type=float, default=.1); p.add_argument("--depth", type=int, default=4); p.add_argument("--iterations", type=int, default=10); a = p.parse_args()
X, y = load_breast_cancer(return_X_y=True); X, V, y, w = train_test_split(X, y, random_state=0)
m = CatBoostClassifier(iterations=a.iterations, learning_rate=a.lr, depth=a.depth, eval_metric="AUC", thread_count=1, verbose=5, allow_writing_files=False)
m.fit(X, y, eval_set=(V, w))
for v in m.get_evals_result()["validation"]["AUC"]: truth(v=v)
