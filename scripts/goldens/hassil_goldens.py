"""Writes crates/meno/tests/goldens/hassil.json: how many sentences PyPI's hassil makes of templates, and the first of them.

pip install hassil==3.12.1; python scripts/goldens/hassil_goldens.py
"""

import itertools
import json
from pathlib import Path

from hassil.intents import RangeSlotList, TextSlotList
from hassil.parse_expression import parse_sentence
from hassil.sample import sample_sentence

LISTS = {
    "area": {"values": ["kitchen", "living room", "(attic|loft)"]},
    "color": {"values": [{"in": "[light] blue", "out": "blue"}, {"in": "red", "out": "red"}]},
    "percent": {"range": {"from": 0, "to": 100, "step": 25}},
    "half": {"range": {"from": 1, "to": 2, "fractions": "halves"}},
}
RULES = {
    "the": "(the|my|our)",
    "turn": "(turn|switch)",
    "light": "(light[s]|lamp[s])",
    "all": "(all [[of] <the>]|every [single])",
    "in_area": "[in] [<the>] {area}",
}
TEMPLATES = [
    "turn on the lights",
    "<turn> on [<the>] {area} <light>",
    "(a|b|[c] d) e[f]g",
    "[(<all>|<the>)] <light> <in_area> on",
    "(<turn> on;<in_area>;[please])",
    "set {area} to {color:hue} [and {percent:brightness}[%]]",
    "wait {half:minutes} minute[s]",
    "(one two|three (four|five)) | six",
    "a \\(b\\) [c\\|d]",
    "<all> <all> <all> <light>",
]


def slot_list(name, data):
    if "range" in data:
        values = data["range"]
        fractions = values.get("fractions")
        return RangeSlotList(
            name=name,
            start=values["from"],
            stop=values["to"],
            step=values.get("step", 1),
            words=False,
            fraction_type=fractions,
        )
    texts = [value if isinstance(value, str) else value["in"] for value in data["values"]]
    return TextSlotList.from_strings(texts, name=name)


def main():
    lists = {name: slot_list(name, data) for name, data in LISTS.items()}
    rules = {name: parse_sentence(text) for name, text in RULES.items()}
    templates = []
    for template in TEMPLATES:
        sentences = list(sample_sentence(parse_sentence(template), lists, rules))
        first = [" ".join(text.split()) for text in itertools.islice(sentences, 24)]
        templates.append({"template": template, "count": len(sentences), "sentences": first})
    path = Path(__file__).parents[2] / "crates/meno/tests/goldens/hassil.json"
    golden = {"lists": LISTS, "rules": RULES, "templates": templates}
    path.write_text(json.dumps(golden, indent=1) + "\n")
    for row in templates:
        print(row["count"], row["template"])


if __name__ == "__main__":
    main()
