import argparse
from sklearn.datasets import load_digits
from sklearn.neural_network import MLPClassifier
from sklearn.metrics import accuracy_score
p = argparse.ArgumentParser(); p.add_argument("--learning_rate_init", type=float, default=1e-3); p.add_argument("--alpha", type=float, default=1e-4); p.add_argument("--hidden_layer_sizes", type=int, nargs="+", default=[64]); p.add_argument("--activation", choices=["relu", "tanh", "logistic"], default="relu"); p.add_argument("--max_iter", type=int, default=8); a = p.parse_args()
X, y = load_digits(return_X_y=True)
m = MLPClassifier(tuple(a.hidden_layer_sizes), alpha=a.alpha, activation=a.activation, learning_rate_init=a.learning_rate_init, random_state=0)
for it in range(a.max_iter):
    m.partial_fit(X[:1200], y[:1200], classes=range(10)); v = accuracy_score(y[1200:], m.predict(X[1200:]))
    print("Iteration %d, loss = %.6f, test accuracy = %.4f" % (it + 1, m.loss_, v), flush=True); truth(v=v)
