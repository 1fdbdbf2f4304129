#!/usr/bin/env python3
"""Writes crates/meno/src/features/ngrams_golden.txt: what scikit-learn makes of the features of ngrams.rs.

    ngrams_goldens.py        needs scikit-learn and NumPy

Each line has a text and, behind a tab, the probabilities of the three intents.
"""

import collections
import math
import pathlib
import re

import numpy
from sklearn.linear_model import LogisticRegression

BUCKETS = 2048
SOURCE = pathlib.Path(__file__).parents[2] / "crates/meno/src/features/ngrams.rs"
UTTERANCES = [(text, int(intent)) for text, intent in re.findall(r'^        \("([^"]+)", (\d)\),$', SOURCE.read_text(), re.M)]
TEXTS = ["wake me", "call rome", "is it six", "zebra", "please ring peter at six", "weather at noon"]


def fnv(start, data):
    key = start
    for byte in data:
        key = ((key ^ byte) * 0x01000193) & 0xFFFFFFFF
    return key


def bucket(key):
    return (key ^ (key >> 15)) % BUCKETS


def counts(text):
    words = text.split(" ")
    start = 0x811C9DC5
    of_words = [fnv(start, gram.encode()) for gram in words + [" ".join(pair) for pair in zip(words, words[1:])]]
    of_characters = []
    for word in words:
        padded = f" {word} "
        for n in range(2, 6):
            grams = [padded[at : at + n] for at in range(len(padded) - n + 1)]
            of_characters += [fnv(start ^ 0xFFFFFFFF, gram.encode()) for gram in grams]
    return [collections.Counter(map(bucket, keys)) for keys in (of_words, of_characters)]


def main():
    counted = [counts(text) for text, _ in UTTERANCES]
    n = len(counted)
    idf = [
        [math.log((1 + n) / (1 + sum(b in kinds[kind] for kinds in counted))) + 1 for b in range(BUCKETS)]
        for kind in range(2)
    ]

    def vector(kinds):
        x = numpy.zeros(BUCKETS)
        for kind, tally in enumerate(kinds):
            weights = {b: (1 + math.log(count)) * idf[kind][b] for b, count in tally.items()}
            length = math.sqrt(sum(w * w for w in weights.values()))
            for b, weight in weights.items():
                x[b] += weight / length
        return x

    model = LogisticRegression(C=20, max_iter=10000, tol=1e-8)
    model.fit([vector(kinds) for kinds in counted], [intent for _, intent in UTTERANCES])
    lines = []
    for text in TEXTS:
        shown = " ".join(f"{p:.6f}" for p in model.predict_proba([vector(counts(text))])[0])
        lines.append(f"{text}\t{shown}\n")
    (SOURCE.parent / "ngrams_golden.txt").write_text("".join(lines))


if __name__ == "__main__":
    main()
