"""Judges what `meno logits` made of the marginals, without meno: exit code 1 and a reason if something does not hold.

    python examples/crfsuite/judge.py data/concepts OUT

Reads OUT/calibration.json, OUT/valid.jsonl and OUT/{valid,test,new}.tagged.jsonl. Needs nothing but Python.
"""

import json
import math
import sys
from pathlib import Path

FIELDS = {"text", "decision", "intent", "tokens", "spans"}
TOKEN_FIELDS = {"text", "start", "end", "label", "first_choice", "probability", "uncertainty", "unknown", "reason"}


def demand(holds, message):
    if not holds:
        sys.exit(f"error: {message}")


def read_json_lines(path):
    def refuse(constant):
        sys.exit(f"error: {path}: {constant} is no number")

    return [json.loads(line, parse_constant=refuse) for line in path.read_text().splitlines()]


def read_labels(folder):
    return [line.split() for line in (folder / "seq.out").read_text().splitlines()]


def spans(labels):
    """(slot, first, end) of each slot; an I- that does not go on begins a slot, as conlleval has it."""
    found, slot, start = set(), None, 0
    for i, label in enumerate([*labels, "O"]):
        prefix, _, name = label.partition("-")
        if slot is not None and (prefix != "I" or name != slot):
            found.add((slot, start, i))
            slot = None
        if slot is None and prefix != "O":
            slot, start = name, i
    return found


def f1(counts):
    gold, predicted, right = map(sum, zip(*counts))
    return 200 * right / (gold + predicted)


def count(gold, labels):
    gold, predicted = spans(gold), spans(labels)
    return len(gold), len(predicted), len(gold & predicted)


def marked(choices, uncertainty, threshold):
    """The first choices, with words over the threshold unknown; an I- after them begins a slot."""
    labels = []
    for label, u in zip(choices, uncertainty):
        after_unknown = bool(labels) and labels[-1].endswith("-unknown")
        if u > threshold:
            label = "I-unknown" if after_unknown else "B-unknown"
        elif after_unknown and label.startswith("I-"):
            label = "B-" + label[2:]
        labels.append(label)
    return labels


def lowest_threshold(gold, choices, uncertainty, budget):
    """Tries every threshold, from the highest down."""
    words = sorted(((u, i) for i, row in enumerate(uncertainty) for u in row), reverse=True)
    counts = [count(g, c) for g, c in zip(gold, choices)]
    before = f1(counts)
    best = words[0][0], before
    touched = set()
    for n, (u, i) in enumerate(words):
        lower = words[n + 1][0] if n + 1 < len(words) else -sys.float_info.max
        touched.add(i)
        if lower == u:  # Words of equal uncertainty become unknown together.
            continue
        for i in touched:
            counts[i] = count(gold[i], marked(choices[i], uncertainty[i], lower))
        touched.clear()
        if before - f1(counts) <= budget + 1e-9:
            best = lower, f1(counts)
    return before, *best


def demand_fields(answers):
    for answer in answers:
        expected = FIELDS | {"about"} if answer["decision"] == "ask" else FIELDS
        demand(answer.keys() == expected, f"an answer has the fields {sorted(answer)}")
        for token in answer["tokens"]:
            demand(token.keys() == TOKEN_FIELDS, f"a token has the fields {sorted(token)}")
            demand(answer["text"].encode()[token["start"] : token["end"]].decode() == token["text"], "wrong bytes")
        found = {(span["slot"], span["start"], span["end"]) for span in answer["spans"]}
        tokens = answer["tokens"]
        labels = [token["label"] for token in tokens]
        expected = {(slot, tokens[i]["start"], tokens[j - 1]["end"]) for slot, i, j in spans(labels)}
        demand(found == expected, f"{answer['text']}: spans {found}, but the labels say {expected}")


def judge_valid(data, out, calibration, answers):
    names, *rows = read_json_lines(out / "valid.jsonl")
    demand(calibration["labels"] == names["label_names"], "other labels")
    demand(calibration["threshold"]["score"] == "confidence", "another score")
    gold = read_labels(data / "valid")
    marginals = [row["logits"] for row in rows]
    choices = [[names["label_names"][row.index(max(row))] for row in rows] for rows in marginals]
    uncertainty = [[-max(row) for row in rows] for rows in marginals]
    threshold = calibration["threshold"]
    before, value, after = lowest_threshold(gold, choices, uncertainty, threshold["budget"])
    for what, found, expected in [
        ("threshold", threshold["value"], value),
        ("F1 before", threshold["f1_before"], before),
        ("F1 after", threshold["f1_after"], after),
    ]:
        # Marginals are f32 in meno, f64 here.
        demand(math.isclose(found, expected, abs_tol=1e-6), f"{what}: {found}, but {expected} by trying all")
    tagged = f1([count(g, [token["label"] for token in answer["tokens"]]) for g, answer in zip(gold, answers)])
    demand(math.isclose(tagged, after, abs_tol=1e-6), f"tagging has an F1 of {tagged}, choosing had {after}")
    print(f"valid   slot F1 {before:.2f} without, {after:.2f} with unknown words (budget {threshold['budget']})")


def judge_new(data, answers, test_answers):
    concepts = exact = touched = n_unknown_spans = 0
    in_concept = others = hits = false_alarms = 0
    for gold, answer in zip(read_labels(data / "new"), answers, strict=True):
        flags = [token["unknown"] for token in answer["tokens"]]
        new = {span for span in spans(gold) if span[0] == "unknown"}
        found = {span for span in spans([token["label"] for token in answer["tokens"]]) if span[0] == "unknown"}
        concepts, n_unknown_spans, exact = concepts + len(new), n_unknown_spans + len(found), exact + len(new & found)
        touched += sum(any(flags[start:end]) for _, start, end in new)
        for label, flag in zip(gold, flags, strict=True):
            is_new = label.endswith("-unknown")
            in_concept, hits = in_concept + is_new, hits + (is_new and flag)
            others, false_alarms = others + (not is_new), false_alarms + (not is_new and flag)
    test = [token["unknown"] for answer in test_answers for token in answer["tokens"]]
    marked, share = hits + false_alarms, in_concept / (in_concept + others)
    print(f"new     {concepts} new concepts: {touched} noticed, {exact} with exact boundaries; {n_unknown_spans} unknown spans")
    print(f"        of {marked} unknown words {hits} belong to one ({hits / max(marked, 1):.0%}; by chance {share:.0%})")
    print(f"test    {sum(test) / len(test):.1%} of the words unknown; in new concepts {hits / in_concept:.1%}")
    # Five deviations above the words of new concepts that as many words drawn by lot would hit.
    lot = marked * share + 5 * math.sqrt(marked * share * (1 - share))
    demand(hits > lot, f"{hits} words of new concepts are unknown; by lot it might be {lot:.0f}")
    demand(hits / in_concept > 2 * sum(test) / len(test), "words of new concepts are hardly more unknown than others")


def main(data, out):
    calibration = json.loads((out / "calibration.json").read_text())
    answers = {name: read_json_lines(out / f"{name}.tagged.jsonl") for name in ("valid", "test", "new")}
    for name in answers:
        demand_fields(answers[name])
    judge_valid(data, out, calibration, answers["valid"])
    judge_new(data, answers["new"], answers["test"])


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
