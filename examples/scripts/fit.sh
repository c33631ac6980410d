#!/bin/sh
# Fits a line by gradient descent with awk, and prints the error after each epoch:
#   foretell search --param 'lr=log:0.001:1' --metric error --epochs 30 -- sh fit.sh {lr}
awk -v lr="$1" -v epochs="${FORETELL_MAX_RESOURCE:-30}" 'BEGIN {
  for (epoch = 1; epoch <= epochs; epoch++) {
    da = db = error = 0
    for (i = 0; i < 20; i++) { x = i / 20; e = a * x + b - (2 * x + 1); da += e * x; db += e; error += e * e }
    a -= lr * da / 10; b -= lr * db / 10
    printf "epoch %d error %.6f\n", epoch, error / 20
  }
}'
