"""Writes crates/meno/tests/goldens/logits/*: one table of logits in every form that is read, and tables to be refused.

Run from the root of the repository, with numpy 2.4 and safetensors 0.6:

    python scripts/goldens/logits_goldens.py
"""

import json
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

OUT = Path("crates/meno/tests/goldens/logits")
NAMES = ["O", "B-café", "I-café"]
TOKENS = [["to", "café", "élan"], ["hello"], ["au", "lait"]]
LABELS = [[0, 1, 2], [0], [1, 2]]

OUT.mkdir(exist_ok=True)
tokens = [token for tokens in TOKENS for token in tokens]
labels = np.array([label for labels in LABELS for label in labels])
lengths = np.array([len(tokens) for tokens in TOKENS])
offsets = np.concatenate([[0], np.cumsum(lengths)])
logits = np.random.default_rng(1).normal(0, 3, (len(tokens), len(NAMES))).astype(np.float32)
named = np.array(NAMES)[labels]

np.savez(OUT / "plain.npz", logits=logits, lengths=lengths, labels=labels, tokens=tokens, label_names=NAMES)
np.savez_compressed(
    OUT / "packed.npz",
    logits=np.asfortranarray(logits.astype(">f8")),
    offsets=offsets.astype(np.uint16),
    labels=named,
    tokens=np.array(tokens, dtype=">U9"),
    label_names=NAMES,
)
save_file(
    {"logits": logits, "lengths": lengths, "labels": labels.astype(np.int32)},
    OUT / "plain.safetensors",
    metadata={"label_names": json.dumps(NAMES)},
)
save_file({"logits": logits.astype(np.float64), "offsets": offsets}, OUT / "bare.safetensors")
with open(OUT / "plain.jsonl", "w") as file:
    print(json.dumps({"label_names": NAMES}), file=file)
    for words, ids, start in zip(TOKENS, LABELS, offsets):
        rows = [[float(value) for value in row] for row in logits[start : start + len(words)]]
        print(json.dumps({"tokens": words, "logits": rows, "labels": [NAMES[id] for id in ids]}), file=file)
(OUT / "label_names.txt").write_text("".join(name + "\n" for name in NAMES))
corpus = OUT / "corpus"
corpus.mkdir(exist_ok=True)
(corpus / "seq.in").write_text("".join(" ".join(words) + "\n" for words in TOKENS))
(corpus / "seq.out").write_text("".join(" ".join(NAMES[id] for id in ids) + "\n" for ids in LABELS))

beside = {"lengths": lengths, "labels": labels, "tokens": tokens, "label_names": NAMES}
for value in (np.nan, np.inf):
    bad = logits.copy()
    bad[4, 1] = value
    np.savez(OUT / f"{value}.npz", logits=bad, **beside)
    save_file({"logits": bad, "lengths": lengths}, OUT / f"{value}.safetensors")
np.savez(OUT / "one_label.npz", logits=logits[:, :1], **(beside | {"label_names": NAMES[:1]}))
np.savez(OUT / "no_labels.npz", logits=np.asfortranarray(logits[:, :0]), lengths=lengths, tokens=tokens)
np.savez(OUT / "half.npz", logits=logits.astype(np.float16), **beside)
