import argparse
from sklearn.datasets import load_digits
from sklearn.linear_model import SGDClassifier
p = argparse.ArgumentParser(); p.add_argument("--alpha", type=float, default=1e-4); p.add_argument("--epochs", type=int, default=6); a = p.parse_args()
X, y = load_digits(return_X_y=True)
m = SGDClassifier(alpha=a.alpha, random_state=0)
for e in range(a.epochs):
    m.partial_fit(X[:1200], y[:1200], classes=range(10)); v = m.score(X[1200:], y[1200:]); print("epoch", e, "val_score", v, flush=True); truth(v=v)
