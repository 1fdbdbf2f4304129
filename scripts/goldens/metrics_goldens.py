"""Writes crates/meno/tests/goldens/metrics.json: what scikit-learn, SciPy and plain counting make of random data.

Run from the root of the repository, with scikit-learn 1.9 and SciPy 1.17 (pip install scikit-learn scipy):

    python scripts/goldens/metrics_goldens.py

- detection: scikit-learn's roc_auc_score, average_precision_score, roc_curve and precision_recall_curve, with and
  without ties.
- reliability: scikit-learn's calibration_curve in 15 uniform bins; ECE is the mean of its gaps weighted by the counts.
- brier: scikit-learn's brier_score_loss for many classes, not halved.
- risk_coverage: the mean over all orders of tied words, each order counted word by word.
- t_tests: SciPy's ttest_rel and ttest_ind(equal_var=False).
- new_concepts: the four ways of counting with sets of spans, counted as the definitions in meno::metrics::new_concepts say.
"""

import itertools
import json
import random

import numpy as np
from scipy import stats
from sklearn import metrics
from sklearn.calibration import calibration_curve

PATH = "crates/meno/tests/goldens/metrics.json"
SLOTS = ["song", "artist", "time-range"]


def detection(rng):
    n = int(rng.integers(2, 30))
    positive = rng.random(n) < rng.uniform(0.1, 0.9)
    positive[:2] = [True, False]
    score = rng.normal(size=n) + positive * rng.uniform(-1, 3)
    if rng.random() < 0.6:
        score = np.round(score, int(rng.integers(0, 2)))
    fpr, tpr, _ = metrics.roc_curve(positive, score, drop_intermediate=False)
    precision, recall, threshold = metrics.precision_recall_curve(positive, score)
    return {
        "scores": score.tolist(),
        "positive": positive.tolist(),
        "auroc": metrics.roc_auc_score(positive, score),
        "aupr": metrics.average_precision_score(positive, score),
        "fpr_at_95_recall": fpr[np.argmax(tpr >= 0.95)],
        "roc": list(zip(fpr.tolist(), tpr.tolist())),
        "precision_recall": list(zip(threshold.tolist(), precision.tolist(), recall.tolist()))[::-1],
    }


def reliability(rng):
    n = int(rng.integers(1, 80))
    confidence = rng.beta(3, 1, size=n)
    if rng.random() < 0.5:
        confidence = np.round(confidence, 1)
    right = rng.random(n) < confidence
    limits = np.linspace(0, 1, 16)
    counts = np.bincount(np.searchsorted(limits[1:-1], confidence), minlength=15)
    accuracy, mean = calibration_curve(right, confidence, n_bins=15, strategy="uniform")
    weights = counts[counts > 0] / n
    return {
        "confidence": confidence.tolist(),
        "right": right.tolist(),
        "counts": counts.tolist(),
        "ece": float(np.sum(weights * np.abs(accuracy - mean))),
    }


def brier(rng):
    n, k = int(rng.integers(1, 15)), int(rng.integers(3, 6))
    rows = rng.dirichlet(np.full(k, 0.5), size=n)
    label = rng.integers(0, k, size=n)
    score = metrics.brier_score_loss(label, rows, labels=list(range(k)), scale_by_half=False)
    return {"rows": rows.tolist(), "labels": label.tolist(), "brier": float(score)}


def risk_coverage(rng):
    uncertainty = rng.integers(0, 4, size=int(rng.integers(1, 8))).tolist()
    wrong = (rng.random(len(uncertainty)) < 0.4).tolist()
    areas = []
    for order in itertools.permutations(range(len(uncertainty))):
        ranked = [uncertainty[idx] for idx in order]
        if ranked == sorted(ranked):
            errors = np.cumsum([wrong[idx] for idx in order])
            areas.append(float(np.mean(errors / np.arange(1, len(errors) + 1))))
    return {"uncertainty": uncertainty, "wrong": wrong, "aurc": float(np.mean(areas))}


def t_test(rng):
    n, m = (int(rng.integers(2, 15)) for _ in range(2))
    first = rng.normal(60, rng.uniform(0.1, 9), size=n)
    second = first + rng.normal(rng.uniform(-9, 9), rng.uniform(0.1, 9), size=n)
    other = rng.normal(60 + rng.uniform(-20, 20), rng.uniform(0.1, 9), size=m)
    pairs, welch = stats.ttest_rel(first, second), stats.ttest_ind(first, other, equal_var=False)
    numbers = lambda test: [float(test.statistic), float(test.df), float(test.pvalue)]
    return {
        "first": first.tolist(),
        "second": second.tolist(),
        "other": other.tolist(),
        "paired": numbers(pairs),
        "welch": numbers(welch),
    }


def chunks(labels):
    """(start, end, slot) of each span; an orphan I- begins one."""
    spans = []
    for idx, label in enumerate(labels):
        prefix, slot = label[0], label[2:]
        if prefix == "O":
            continue
        follows = idx > 0 and labels[idx - 1] != "O" and labels[idx - 1][2:] == slot
        if prefix == "I" and follows:
            spans[-1] = (spans[-1][0], idx + 1, slot)
        else:
            spans.append((idx, idx + 1, slot))
    return spans


def counts(gold, truth, predicted):
    """Precision, recall and F1 in percent by the four ways of counting."""
    correct = claimed = overlapping = known = n_predicted = n_new = n_gold = 0
    for labels, true_labels, guess in zip(gold, truth, predicted):
        spans = chunks(labels)
        new = {(i, j): true_labels[i][2:] for i, j, slot in spans if slot == "unknown"}
        old = {(i, j, true_labels[i][2:]) for i, j, slot in spans if slot != "unknown"}
        guesses = chunks(guess)
        n_new, n_gold, n_predicted = n_new + len(new), n_gold + len(spans), n_predicted + len(guesses)
        for i, j, slot in guesses:
            hit = (i, j) in new and slot in ("unknown", new[i, j])
            correct += hit
            claimed += hit or slot == "unknown"
            known += slot != "unknown" and not hit and (i, j, slot) in old
            wrong = slot != "unknown" and not hit and (i, j, slot) not in old
            overlapping += wrong and any(i < end and start < j for start, end in new)
    return {
        "unknown": scores(correct, claimed, n_new),
        "all_slots": scores(correct + known, n_predicted, n_gold),
        "strict": scores(correct, claimed + overlapping, n_new),
        "any": scores(correct, n_predicted, n_new),
    }


def scores(correct, predicted, gold):
    precision, recall = 100 * correct / max(predicted, 1), 100 * correct / max(gold, 1)
    return [precision, recall, 2 * precision * recall / max(precision + recall, 1e-9)]


def utterance(rng):
    """True labels, and the same with some of the spans called unknown."""
    truth, gold = [], []
    for _ in range(rng.randint(1, 5)):
        slot, is_new = rng.choice(SLOTS + [None]), rng.random() < 0.5
        for idx in range(rng.randint(1, 3)):
            prefix = "B" if idx == 0 else "I"
            truth.append(f"{prefix}-{slot}" if slot else "O")
            gold.append("O" if not slot else f"{prefix}-{'unknown' if is_new else slot}")
    return gold, truth


def guess(rng, gold, truth):
    change = rng.choice([0.05, 0.2, 0.6])
    source = rng.choice([gold, truth])
    options = ["O"] + [f"{prefix}-{slot}" for prefix in "BI" for slot in SLOTS + ["unknown", "unknown"]]
    return [rng.choice(options) if rng.random() < change else label for label in source]


def new_concepts(rng):
    pairs = [utterance(rng) for _ in range(rng.randint(1, 8))]
    gold, truth = [gold for gold, _ in pairs], [truth for _, truth in pairs]
    predicted = [guess(rng, *pair) for pair in pairs]
    return {"gold": gold, "truth": truth, "predicted": predicted, "scores": counts(gold, truth, predicted)}


def main():
    rng, plain = np.random.default_rng(20260101), random.Random(20260101)
    cases = {
        "detection": [detection(rng) for _ in range(30)],
        "reliability": [reliability(rng) for _ in range(30)],
        "brier": [brier(rng) for _ in range(20)],
        "risk_coverage": [risk_coverage(rng) for _ in range(30)],
        "t_tests": [t_test(rng) for _ in range(60)],
        "new_concepts": [new_concepts(plain) for _ in range(150)],
    }
    blocks = [
        f'"{name}": [\n' + ",\n".join(json.dumps(case, separators=(",", ":")) for case in block) + "\n]"
        for name, block in cases.items()
    ]
    with open(PATH, "w", encoding="utf-8") as file:
        file.write("{\n" + ",\n".join(blocks) + "\n}\n")


if __name__ == "__main__":
    main()
