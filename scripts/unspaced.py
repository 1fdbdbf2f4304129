#!/usr/bin/env python3
"""How many words of a corpus are found again after its spaces were taken away, by several ways to cut text.

Prints the table of docs/languages.md. The last way is the one of crates/meno/src/text/segment.rs.

    scripts/unspaced.py ../shared/data/real/{fb-es,hwu64,financial,ha-en}
"""

import math
import sys
from collections import Counter
from pathlib import Path

MOST = 800


def read(path):
    return [line.split() for line in path.read_text().splitlines()]


def longest_match(text, words, longest, whole):
    found, at, new = [], 0, ""
    while at < len(text):
        lengths = range(min(longest, len(text) - at), 0, -1)
        length = next((n for n in lengths if text[at : at + n] in words), None)
        if length is None and whole:
            new += text[at]
        else:
            found += [new] if new else []
            new = ""
            found.append(text[at : at + (length or 1)])
        at += length or 1
    return found + ([new] if new else [])


def cheapest(text, costs, longest, new_word, new_letter):
    best, start_of = [0.0], [0]
    for end in range(1, len(text) + 1):
        ways = []
        for start in range(max(0, end - max(longest, 24)), end):
            piece = text[start:end]
            if piece in costs:
                ways.append((best[start] + costs[piece], start))
            if end - start <= 24:
                ways.append((best[start] + new_word + new_letter * (end - start), start))
        cost, start = min(ways)
        best.append(cost)
        start_of.append(start)
    found, end = [], len(text)
    while end > 0:
        found.append(text[start_of[end] : end])
        end = start_of[end]
    return found[::-1]


def spans(words):
    found, at = set(), 0
    for word in words:
        found.add((at, at + len(word)))
        at += len(word)
    return found


def main():
    print("set", "longest+letters", "longest+whole", "fewest", "likeliest", sep="\t")
    for folder in map(Path, sys.argv[1:]):
        train, test = (read(folder / split / "seq.in") for split in ("train", "test"))
        counts = Counter(word for words in train for word in words)
        total, longest = sum(counts.values()), max(map(len, counts))
        letters = len({letter for word in counts for letter in word})
        likely = {word: math.log(total / n) for word, n in counts.items()}
        ways = [
            lambda text: longest_match(text, counts, longest, False),
            lambda text: longest_match(text, counts, longest, True),
            lambda text: cheapest(text, dict.fromkeys(counts, 1.0), longest, 1.0, 0.5),
            lambda text: cheapest(text, likely, longest, math.log(total), math.log(1 + letters)),
        ]
        row = []
        for way in ways:
            right = n_found = n_gold = 0
            for words in test[:MOST]:
                gold, found = spans(words), spans(way("".join(words)))
                right, n_found, n_gold = right + len(gold & found), n_found + len(found), n_gold + len(gold)
            row.append(f"{200 * right / (n_found + n_gold):.1f}")
        print(folder.name, *row, sep="\t")


if __name__ == "__main__":
    main()
