import argparse, numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import StratifiedKFold
from sklearn.linear_model import SGDClassifier
p = argparse.ArgumentParser(); p.add_argument("--alpha", type=float, default=1e-4); p.add_argument("--n-splits", type=int, default=3); p.add_argument("--epochs", type=int, default=5); a = p.parse_args()
X, y = load_digits(return_X_y=True); scores = []
for k, (tr, te) in enumerate(StratifiedKFold(a.n_splits).split(X, y)):
    m = SGDClassifier(alpha=a.alpha, random_state=0)
    for e in range(a.epochs): m.partial_fit(X[tr], y[tr], classes=range(10))
    s = m.score(X[te], y[te]); scores.append(s); print(f"Fold {k + 1}: accuracy {s:.4f}", flush=True)
print(f"Mean accuracy: {np.mean(scores):.4f} +- {np.std(scores):.4f}"); truth(v=np.mean(scores))
