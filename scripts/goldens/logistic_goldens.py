#!/usr/bin/env python3
"""Golden weights of a weighted logistic regression with an L2 prior of strength 2, for crates/meno/src/math/logistic.rs (scikit-learn)."""
import numpy as np
from sklearn.linear_model import LogisticRegression

x = np.array([[0.5, 1.0], [1.5, -0.3], [-0.7, 0.2], [2.0, 0.9], [-1.2, -1.1], [0.1, 0.4], [0.9, -0.8], [-0.3, 1.7]])
y = np.array([1, 1, 0, 1, 0, 0, 0, 1])
weight = np.array([1.0, 2.0, 1.0, 0.5, 1.0, 1.0, 1.0, 3.0])
model = LogisticRegression(C=0.5, tol=1e-12, max_iter=10_000).fit(x, y, sample_weight=weight)
print(*(f"{value:.7f}" for value in [*model.coef_[0], model.intercept_[0]]), sep=", ")
