#!/usr/bin/env python3
"""The official scorer of the CoNLL 2018 shared task on disturbed trees, for crates/meno/tests/syntax.rs.

    python3 scripts/goldens/syntax_goldens.py

Reads tests/goldens/conllu/gold.conllu, writes system files beside it, in which tags, heads and relations are wrong here
and there, and scores.json. The scorer, conll18_ud_eval.py 1.2 (MPL 2.0), is taken out of the `stanfordnlp` package on
PyPI and not kept.
"""

import json
import random
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

DIR = Path(__file__).parents[2] / "crates/meno/tests/goldens/conllu"
UPOS = "ADJ ADP ADV AUX DET NOUN NUM PART PRON PROPN PUNCT VERB X".split()
RELATIONS = "nsubj obj obl nmod amod compound nmod:poss obl:tmod conj advmod".split()


def scorer():
    with tempfile.TemporaryDirectory() as folder:
        download = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "stanfordnlp==0.2.0", "-d", folder]
        subprocess.run(download, check=True)
        with zipfile.ZipFile(next(Path(folder).glob("*.whl"))) as wheel:
            source = wheel.read("stanfordnlp/utils/conll18_ud_eval.py")
    module = {"__name__": "conll18_ud_eval"}
    exec(compile(source, "conll18_ud_eval.py", "exec"), module)
    return module


def is_tree(heads):
    for word in range(1, len(heads) + 1):
        steps = 0
        while word and steps <= len(heads):
            word, steps = heads[word - 1], steps + 1
        if word:
            return False
    return heads.count(0) == 1


def disturb(text, rate, rng):
    blocks = []
    for block in text.strip().split("\n\n"):
        lines = [line.split("\t") for line in block.split("\n")]
        words = [columns for columns in lines if columns[0].isdigit()]
        for columns in words:
            if rng.random() < rate:
                columns[3] = rng.choice(UPOS)
            if rng.random() < rate and columns[6] != "0":
                columns[7] = rng.choice(RELATIONS)
            if rng.random() < rate:
                heads = [int(columns[6]) for columns in words]
                heads[int(columns[0]) - 1] = rng.randint(1, len(words))
                if is_tree(heads):
                    columns[6] = str(heads[int(columns[0]) - 1])
        blocks.append("\n".join("\t".join(columns) for columns in lines) + "\n\n")
    return "".join(blocks)


def main():
    evaluate = scorer()
    gold = (DIR / "gold.conllu").read_text()
    results = {}
    for idx, rate in enumerate([0.0, 0.1, 0.3, 0.8]):
        name = f"system-{idx}.conllu"
        (DIR / name).write_text(disturb(gold, rate, random.Random(idx)))
        files = [evaluate["load_conllu_file"](str(DIR / file)) for file in ("gold.conllu", name)]
        scores = evaluate["evaluate"](*files)
        results[name] = {metric: 100 * scores[metric].f1 for metric in ("UPOS", "UAS", "LAS")}
    (DIR / "scores.json").write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
