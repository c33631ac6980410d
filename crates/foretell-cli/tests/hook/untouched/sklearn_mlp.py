import argparse, warnings; warnings.filterwarnings("ignore")
from sklearn.datasets import load_digits
from sklearn.neural_network import MLPClassifier
p = argparse.ArgumentParser(); p.add_argument("--alpha", type=float, default=1e-4); p.add_argument("--learning_rate_init", type=float, default=1e-3); p.add_argument("--max_iter", type=int, default=8); a = p.parse_args()
X, y = load_digits(return_X_y=True)
m = MLPClassifier([32], alpha=a.alpha, learning_rate_init=a.learning_rate_init, max_iter=a.max_iter, early_stopping=True, verbose=True, random_state=0).fit(X / 16, y)
for v in m.validation_scores_: truth(v=v)
