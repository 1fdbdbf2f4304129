"""Writes crates/meno/tests/goldens/seqeval.json: label sequences and what seqeval makes of them.

Run from the root of the repository, with seqeval 1.2.2 (pip install seqeval==1.2.2):

    python scripts/goldens/seqeval_goldens.py

A case is a few sentences (gold, predicted) and, for the default mode and for mode='strict', scheme=IOB2, the
scores by type and the three averages: [precision, recall, f1, support].

Left out are
- sentences in which seqeval's default mode closes a chunk that it never opened: it then counts from the start
  of an earlier chunk, maybe of another sentence (meno::corpus::tags says what is done instead);
- strict numbers of cases with letters other than B, I and O, which seqeval refuses;
- averages of no types, which seqeval gives as nan (meno gives 0).
"""

import json
import random
import warnings

from seqeval.metrics.sequence_labeling import end_of_chunk, get_entities, start_of_chunk
from seqeval.metrics.sequence_labeling import precision_recall_fscore_support as default_scores
from seqeval.metrics.v1 import precision_recall_fscore_support as strict_scores
from seqeval.scheme import IOB2, Entities

PATH = "crates/meno/tests/goldens/seqeval.json"
SLOTS = ["city", "time-range", "object.name", "a-", "_", "été"]
JUNK = ["X", "U", "L", "X-city", "E-city", "S-city", "E", "S", "U-city", "L-city", "BX-city", "city", "-city",
        ".", "O-city", "b-city", "Ü-city"]
HANDMADE = [
    ([], []),
    ([[]], [[]]),
    ([[], ["O"]], [[], ["O"]]),
    ([["O", "O"]], [["O", "O"]]),
    ([["O", "O"]], [["B-x", "I-x"]]),
    ([["B-x", "I-x"]], [["O", "O"]]),
    ([["B-x", "I-x"]], [["I-x", "I-x"]]),
    ([["B-x", "I-y", "I-y"]], [["B-x", "I-x", "I-y"]]),
    ([["B-x"], ["I-x"]], [["B-x"], ["B-x"]]),
    ([["O", "B-x"], ["I-x", "O"]], [["O", "I-x"], ["I-x", "O"]]),
    ([["B", "I", "O", "I"]], [["B", "I", "I", "I"]]),
    ([["Bx", "Ix"]], [["B-x", "I-x"]]),
    ([["B-", "I-"]], [["B", "I"]]),
    ([["B-a-b", "I-a-b", "B-a-c"]], [["B-a-b", "I-a-c", "B-a-c"]]),
    ([["B-x", "X", "B-y"]], [["B-x", "O", "B-y"]]),
    ([["B-x", "X", "O"]], [["B-x", "I-x", "O"]]),
    ([["B-x", "E-x", "S-x"]], [["B-x", "I-x", "B-x"]]),
]


def label(rng, junk):
    if rng.random() < junk:
        return rng.choice(JUNK)
    prefix = rng.choice("BBIIOO")
    if prefix == "O":
        return "O"
    return prefix if rng.random() < 0.05 else f"{prefix}-{rng.choice(SLOTS[:rng.randint(1, len(SLOTS))])}"


def sound(sentence):
    """Whether every chunk that seqeval's default mode closes was opened in this sentence."""
    previous, opened = ("O", "_"), False
    for text in sentence + ["O"]:
        part = text[0], text[1:].split("-", maxsplit=1)[-1] or "_"
        if end_of_chunk(previous[0], part[0], previous[1], part[1]):
            if not opened:
                return False
            opened = False
        if start_of_chunk(previous[0], part[0], previous[1], part[1]):
            opened = True
        previous = part
    return True


def random_case(rng):
    junk = rng.choice([0, 0, 0, 0.1, 0.4])
    gold, predicted = [], []
    n_sentences = rng.randint(1, 6)
    while len(gold) < n_sentences:
        sentence = [label(rng, junk) for _ in range(rng.randint(0, 9))]
        guess = [text if rng.random() < 0.7 else label(rng, junk) for text in sentence]
        if sound(sentence) and sound(guess):
            gold.append(sentence)
            predicted.append(guess)
    return gold, predicted


def numbers(gold, predicted, types, scores, **options):
    by_type = zip(*scores(gold, predicted, average=None, **options))
    result = {"types": {name: [*map(float, row[:3]), int(row[3])] for name, row in zip(types, by_type)}}
    for average in ["micro", "macro", "weighted"]:
        if types or average == "micro":
            *row, support = scores(gold, predicted, average=average, **options)
            result[average] = [*map(float, row), int(support)]
    return result


def case(gold, predicted):
    result = {"gold": gold, "predicted": predicted}
    if not gold:
        return result
    types = sorted({chunk[0] for labels in (gold, predicted) for chunk in get_entities(labels)})
    result["default"] = numbers(gold, predicted, types, default_scores)
    if all(text[0] in "BIO" for labels in (gold, predicted) for sentence in labels for text in sentence):
        types = sorted(Entities(gold, IOB2).unique_tags | Entities(predicted, IOB2).unique_tags)
        result["strict"] = numbers(gold, predicted, types, strict_scores, scheme=IOB2)
    return result


def main():
    warnings.simplefilter("ignore")
    rng = random.Random(20260101)
    cases = HANDMADE + [random_case(rng) for _ in range(300)]
    with open(PATH, "w", encoding="utf-8") as file:
        lines = [json.dumps(case(gold, predicted), ensure_ascii=False) for gold, predicted in cases]
        file.write("[\n" + ",\n".join(lines) + "\n]\n")


if __name__ == "__main__":
    main()
