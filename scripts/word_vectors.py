"""Makes `models/english.vectors`, a compact table of word vectors, from WordLlama (MIT, Lee Miller).

    pip install numpy==2.4.6 safetensors==0.7.0
    pip download --no-deps wordllama==0.4.0.post1 && unzip wordllama-*.whl -d wordllama
    python scripts/word_vectors.py wordllama/wordllama models/english.vectors

WordLlama has a vector for each of the 32,000 pieces of the Llama 2 tokenizer. What people say has no capitals, so
pieces that differ in them alone become one, with the mean of their vectors. Pieces of other letters than Latin ones,
digits and apostrophes are left out. Vectors are shortened to unit length, then to WIDTH dimensions (PCA), and stored as
signed bytes. Three more numbers tell how a piece is written: how early its small form and its capitalised form entered
the tokenizer (names have the second alone), and whether it begins a word.

The file is safetensors: `pieces`, the names joined by line feeds, those that begin a word with a space before them, in
alphabetical order; `vectors`, a row of signed bytes for each.
"""

import json
import sys
import unicodedata
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file, save

WIDTH = 93
START = "▁"
SCALE = 127 / 0.45


def is_kept(name):
    latin = all(c in "'’" or c.isdigit() or "LATIN" in unicodedata.name(c, "") for c in name)
    return bool(name) and latin


def main(package, target):
    tokenizer = json.loads((package / "tokenizers/l2_supercat_tokenizer_config.json").read_text())
    vocabulary = tokenizer["model"]["vocab"]
    (weights,) = load_file(package / "weights/l2_supercat_256.safetensors").values()
    weights = weights.astype(np.float64)
    weights /= np.linalg.norm(weights, axis=1, keepdims=True) + 1e-9

    pieces = {}
    for name, number in vocabulary.items():
        begins = name.startswith(START)
        letters = name[len(START) :] if begins else name
        if is_kept(letters):
            key = (" " if begins else "") + letters.lower()
            pieces.setdefault(key, []).append((letters, number))

    names = sorted(pieces)
    vectors = np.array([weights[[number for _, number in pieces[name]]].mean(0) for name in names])
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    centred = vectors - vectors.mean(0)
    _, _, directions = np.linalg.svd(centred.T @ centred)
    short = centred @ directions[:WIDTH].T
    print(f"{len(names)} pieces; {WIDTH} dimensions keep {(short**2).sum() / (centred**2).sum():.1%} of the variance")
    short /= np.linalg.norm(short, axis=1, keepdims=True)

    def earliness(name, is_small):
        numbers = [number for letters, number in pieces[name] if (letters == letters.lower()) == is_small]
        return max(0.0, 1 - np.log(min(numbers)) / np.log(len(vocabulary))) if numbers else 0.0

    written = np.array(
        [[0.45 * earliness(name, True), 0.45 * earliness(name, False), 0.2 * name.startswith(" ")] for name in names]
    )
    table = np.concatenate([short, written], axis=1)
    table = np.clip(np.rint(table * SCALE), -127, 127).astype(np.int8)
    text = np.frombuffer("\n".join(names).encode(), dtype=np.uint8)
    target.write_bytes(save({"pieces": text, "vectors": table}, metadata={"format": "1"}))
    print(f"{target}: {target.stat().st_size} bytes")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
