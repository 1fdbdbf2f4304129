#!/usr/bin/env python3
"""How many readings stay right when people type marks, capitals or fillers that the corpus does not have there.

    scripts/marks.py MODEL SPLIT [--meno PATH] [--wrong FORM]

SPLIT is a folder with seq.in, seq.out and label. Its utterances that end in a slot are tagged as raw text (`meno tag`), as they
are and in other forms. A reading is right if the intent and all slots with their values are those of the corpus, whatever the
case; a filler may change nothing. Prints a table: how many readings are right, and of how many the intent and the slots are.
With --wrong, the readings of that form that are wrong while the utterance as it is was read right.
"""

import argparse
import json
import os
import pathlib
import subprocess

FORMS = {
    "as it is": lambda text: text,
    "`?` behind": lambda text: text + "?",
    "`.` behind": lambda text: text + ".",
    "`!` behind": lambda text: text + "!",
    "first letter in capitals": lambda text: text[:1].upper() + text[1:],
    "all letters in capitals": str.upper,
    "all letters small": str.lower,
    "`please` behind": lambda text: text + " please",
    "`, please.` behind": lambda text: text + ", please.",
    "`um` before": lambda text: "um " + text,
    "`um, ` before": lambda text: "um, " + text,
}


def read(split):
    """The text, the intents and the slots of each utterance that ends in a slot."""
    lines = ((split / name).read_text(encoding="utf-8").splitlines() for name in ("seq.in", "seq.out", "label"))
    found = []
    for words, labels, intent in zip(*lines):
        words, labels = words.split(), labels.split()
        slots = []
        for word, label in zip(words, labels):
            if label.startswith("B-"):
                slots.append([label[2:], [word]])
            elif label.startswith("I-"):
                slots[-1][1].append(word)
        if labels and labels[-1] != "O":
            slots = [(slot, " ".join(value).casefold()) for slot, value in slots]
            found.append((" ".join(words), intent.strip().split("#"), slots))
    return found


def tag(meno, model, texts):
    ran = subprocess.run([meno, "tag", model, "--json"], input="\n".join(texts) + "\n", capture_output=True, text=True, check=True)
    readings = [json.loads(line) for line in ran.stdout.splitlines()]
    assert len(readings) == len(texts), "one reading for each line"
    return readings


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    default = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", root / "target")) / "release" / "meno"
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("split", type=pathlib.Path)
    parser.add_argument("--meno", default=default)
    parser.add_argument("--wrong", metavar="FORM", choices=FORMS)
    args = parser.parse_args()
    gold = read(args.split)
    right_before = [False] * len(gold)
    if not args.wrong:
        print(f"| {len(gold)} utterances | right | intent right | slots right |\n|---|---:|---:|---:|")
    for form, change in FORMS.items():
        readings = tag(args.meno, args.model, [change(text) for text, _, _ in gold])
        named = [(reading["intent"] or {}).get("name") in intents for reading, (_, intents, _) in zip(readings, gold)]
        spans = [[(span["slot"], span["text"].casefold()) for span in reading["spans"]] for reading in readings]
        filled = [found == slots for found, (_, _, slots) in zip(spans, gold)]
        right = [a and b for a, b in zip(named, filled)]
        if form == "as it is":
            right_before = right
        if not args.wrong:
            print(f"| {form} | {sum(right)} | {sum(named)} | {sum(filled)} |")
        elif form == args.wrong:
            for before, now, reading, found in zip(right_before, right, readings, spans):
                if before and not now:
                    print(reading["text"], "->", (reading["intent"] or {}).get("name"), found)


if __name__ == "__main__":
    main()
