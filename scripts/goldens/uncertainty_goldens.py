"""Writes crates/meno/tests/goldens/uncertainty.json: scores of rows, best temperatures, thresholds.

Run from the root of the repository, with numpy 2.4, scipy 1.17, mpmath 1.3 and seqeval 1.2:

    python scripts/goldens/uncertainty_goldens.py

Scores are computed from their formulas in NumPy and SciPy; the two entropies and the mutual information of the Dirichlet
by mpmath with 800 digits, and where every concentration is within e^-6..e^9 the script fails if scipy.stats.dirichlet
disagrees. Temperatures are scipy.optimize's. A threshold is found by trying every one, with seqeval's F1 each time.
"""

import json
import warnings

import numpy as np
from mpmath import digamma, exp, log, loggamma, mp, mpf
from scipy import optimize, special, stats
from seqeval.metrics import f1_score

PATH = "crates/meno/tests/goldens/uncertainty.json"
mp.dps = 800
random = np.random.default_rng(5)
warnings.simplefilter("ignore")


def dirichlet_entropy(alpha):
    alpha0, k = sum(alpha), len(alpha)
    ln_beta = sum(loggamma(a) for a in alpha) - loggamma(alpha0)
    return ln_beta + (alpha0 - k) * digamma(alpha0) - sum((a - 1) * digamma(a) for a in alpha)


def mutual_information(alpha):
    alpha0 = sum(alpha)
    return -sum(a / alpha0 * (log(a / alpha0) - digamma(a + 1) + digamma(alpha0 + 1)) for a in alpha)


def scores(row):
    row = row.astype(np.float64)
    p = special.softmax(row)
    alpha = [exp(mpf(m)) for m in row]
    entropy = float(dirichlet_entropy(alpha))
    plus_one = float(dirichlet_entropy([a + 1 for a in alpha]))
    if row.min() > -6 and row.max() < 9:
        assert np.isclose(entropy, stats.dirichlet.entropy(np.exp(row)), rtol=1e-9)
        assert np.isclose(plus_one, stats.dirichlet.entropy(np.exp(row) + 1), rtol=1e-9)
    return {
        "confidence": -p.max(),
        "entropy": entropy,
        "entropy-plus-one": plus_one,
        "top-variance": -np.var(np.sort(p)[-5:]),
        "softmax-entropy": special.entr(p).sum(),
        "max-logit": -row.max(),
        "energy": -special.logsumexp(row),
        "mutual-information": float(mutual_information(alpha)),
    }


def rows():
    for n_labels in (2, 3, 5, 8, 40):
        for spread in (0.1, 2, 5):
            yield random.normal(0, spread, n_labels)
    yield np.linspace(-19, 16, 12)
    yield np.array([-690.0, 3, 2, 1])
    yield np.array([690.0, 600, 1, -3])
    yield np.array([690.0, 690.0, -690.0])
    yield np.array([-690.0] * 4)
    yield np.array([88.0] + [-19.0] * 6)


def temperature_case(n_words, n_labels, spread):
    truth = random.normal(0, 2, (n_words, n_labels))
    gold = [int(random.choice(n_labels, p=special.softmax(row))) for row in truth]
    logits = (truth * spread).astype(np.float32)

    def nll(ln_temperature):
        scaled = logits.astype(np.float64) / np.exp(ln_temperature)
        return -special.log_softmax(scaled, axis=1)[np.arange(n_words), gold].sum()

    found = optimize.minimize_scalar(nll, bounds=(-4, 4), method="bounded", options={"xatol": 1e-10})
    return {"logits": logits.tolist(), "gold": gold, "temperature": float(np.exp(found.x)), "nll": float(found.fun)}


def mark(labels, unknown):
    labels, before = list(labels), False
    for i, is_unknown in enumerate(unknown):
        if is_unknown:
            labels[i] = "I-unknown" if before else "B-unknown"
        before = is_unknown
    return labels


def threshold_case(n_utterances, budget):
    kinds = ["O", "O", "O", "B-x", "I-x", "B-y", "I-y"]
    gold, first, uncertainty = [], [], []
    for _ in range(n_utterances):
        labels = list(random.choice(kinds, random.integers(1, 9)))
        wrong = random.random(len(labels)) < 0.15
        gold.append(labels)
        first.append([str(random.choice(kinds)) if w else label for label, w in zip(labels, wrong)])
        noise = random.integers(0, 40, len(labels)) / 10
        uncertainty.append([float(u) for u in noise + 2 * wrong])
    gold = [[str(label) for label in labels] for labels in gold]
    first = [[str(label) for label in labels] for labels in first]

    def f1(theta):
        marked = [mark(labels, [v > theta for v in u]) for labels, u in zip(first, uncertainty)]
        return 100 * f1_score(gold, marked)

    values = sorted({v for u in uncertainty for v in u})
    before = f1(values[-1])
    value = next(v for v in values if f1(v) >= before - budget - 1e-9)
    case = {"gold": gold, "first_choices": first, "uncertainty": uncertainty, "budget": budget}
    return case | {"value": value, "f1_before": before, "f1_after": f1(value)}


golden = {
    "scores": [
        {"logits": row.tolist(), "scores": {name: float(value) for name, value in scores(row).items()}}
        for row in (row.astype(np.float32) for row in rows())
    ],
    "temperatures": [temperature_case(n, k, s) for n, k, s in ((40, 3, 1), (60, 5, 4), (60, 5, 0.2))],
    "thresholds": [threshold_case(n, b) for n, b in ((5, 1.0), (30, 1.0), (30, 5.0), (60, 0.5), (60, 0.0), (60, 20.0))],
}
with open(PATH, "w") as file:
    json.dump(golden, file)
    file.write("\n")
