#!/usr/bin/env python3
"""The usual baseline: a CRF for the slots and logistic regression for the intents.

    crf.py DIR [SPLIT] [--valid-too]

DIR has folders `train`, SPLIT (default `test`) and, for --valid-too, `valid`, each with seq.in, seq.out and label.
Prints one JSON object: data, slot_f1 (as conlleval and seqeval count) and intent_accuracy, in percent.

The CRF (python-crfsuite, L-BFGS, 100 iterations, c1 = c2 = 0.05) sees words at -2 to 2, their bigrams, shapes, and prefixes
and suffixes of 1 to 4 letters. Intents: TF-IDF of words and of character n-grams, logistic regression (scikit-learn).
"""

import argparse
import json
import pathlib
import re
import tempfile

import pycrfsuite
from scipy.sparse import hstack
from seqeval.metrics import f1_score
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression


def read(folder):
    def lines(name):
        return (folder / name).read_text(encoding="utf-8").splitlines()

    words = [line.split() for line in lines("seq.in")]
    labels = [line.split() for line in lines("seq.out")]
    # Several intents of an utterance stand as `a#b`: the first is learnt, any is right.
    intents = [line.strip() for line in lines("label")] if (folder / "label").exists() else [""] * len(words)
    return words, labels, intents


def shape(word):
    shape = re.sub(r"\d", "0", re.sub(r"[^\W\d_]", lambda m: "A" if m[0].isupper() else "a", word))
    return re.sub(r"(.)\1+", r"\1", shape)


def features(words, at):
    def word(offset):
        i = at + offset
        return words[i].lower() if 0 <= i < len(words) else "<s>"

    found = [f"{offset}={word(offset)}" for offset in range(-2, 3)]
    found += [f"{offset}/{offset + 1}={word(offset)} {word(offset + 1)}" for offset in range(-2, 2)]
    for offset in range(-1, 2):
        if 0 <= at + offset < len(words):
            found.append(f"shape{offset}={shape(words[at + offset])}")
    lower = word(0)
    found += [f"pre={lower[:n]}" for n in range(1, 5) if len(lower) >= n]
    found += [f"suf={lower[-n:]}" for n in range(1, 5) if len(lower) >= n]
    return found


def slots(train, test):
    trainer = pycrfsuite.Trainer(algorithm="lbfgs", verbose=False)
    trainer.set_params({"c1": 0.05, "c2": 0.05, "max_iterations": 100, "feature.possible_transitions": True})
    for words, labels in zip(train[0], train[1]):
        if words:
            trainer.append([features(words, i) for i in range(len(words))], labels)
    with tempfile.NamedTemporaryFile() as model:
        trainer.train(model.name)
        tagger = pycrfsuite.Tagger()
        tagger.open(model.name)
        predicted = [tagger.tag([features(words, i) for i in range(len(words))]) for words in test[0]]
    return 100 * f1_score(test[1], predicted)


def intents(train, test):
    if len({intent for intent in train[2]}) < 2:
        return None
    texts, others = ([" ".join(words) for words in split[0]] for split in (train, test))
    by_word = TfidfVectorizer(ngram_range=(1, 2), token_pattern=r"\S+", sublinear_tf=True)
    by_character = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 5), sublinear_tf=True)
    seen = hstack([by_word.fit_transform(texts), by_character.fit_transform(texts)])
    asked = hstack([by_word.transform(others), by_character.transform(others)])
    model = LogisticRegression(C=20, max_iter=1000)
    model.fit(seen, [intent.split("#")[0] for intent in train[2]])
    right = sum(guess in intent.split("#") for guess, intent in zip(model.predict(asked), test[2]))
    return 100 * right / len(test[2])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dir", type=pathlib.Path)
    parser.add_argument("split", nargs="?", default="test")
    parser.add_argument("--valid-too", action="store_true", help="train on valid as well")
    args = parser.parse_args()
    train, test = read(args.dir / "train"), read(args.dir / args.split)
    if args.valid_too:
        train = tuple(a + b for a, b in zip(train, read(args.dir / "valid")))
    print(json.dumps({"data": args.dir.resolve().name, "slot_f1": slots(train, test), "intent_accuracy": intents(train, test)}))


if __name__ == "__main__":
    main()
