"""Trains a CRF with python-crfsuite and writes its marginals for `meno logits`.

    python examples/crfsuite/marginals.py data/concepts OUT

OUT/valid.jsonl, OUT/test.jsonl and OUT/new.jsonl get the marginals. Of the gold labels only those of the valid set are
written: they are what the threshold is chosen on.
"""

import json
import sys
from pathlib import Path

import pycrfsuite


def read(folder):
    words, labels = ((folder / name).read_text().splitlines() for name in ("seq.in", "seq.out"))
    return [(w.split(), l.split()) for w, l in zip(words, labels, strict=True)]


def features(words):
    for i, word in enumerate(words):
        before = words[i - 1] if i > 0 else "<s>"
        after = words[i + 1] if i + 1 < len(words) else "</s>"
        yield ["bias", f"w={word}", f"-1={before}", f"+1={after}", f"-1+0={before}|{word}", f"end={word[-3:]}"]


def train(utterances, path):
    trainer = pycrfsuite.Trainer(verbose=False)
    for words, labels in utterances:
        trainer.append(list(features(words)), labels)
    trainer.set_params({"c1": 0.1, "c2": 0.1, "max_iterations": 60, "feature.possible_transitions": True})
    trainer.train(str(path))


def write(tagger, utterances, path, with_gold=False):
    names = tagger.labels()
    with open(path, "w") as file:
        print(json.dumps({"label_names": names}), file=file)
        for words, labels in utterances:
            tagger.set(list(features(words)))
            rows = [[tagger.marginal(name, i) for name in names] for i in range(len(words))]
            line = {"tokens": words, "logits": rows} | ({"labels": labels} if with_gold else {})
            print(json.dumps(line), file=file)


def main(data, out):
    out.mkdir(parents=True, exist_ok=True)
    train(read(data / "train"), out / "crf.model")
    tagger = pycrfsuite.Tagger()
    tagger.open(str(out / "crf.model"))
    write(tagger, read(data / "valid"), out / "valid.jsonl", with_gold=True)
    write(tagger, read(data / "test"), out / "test.jsonl")
    write(tagger, read(data / "new"), out / "new.jsonl")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
