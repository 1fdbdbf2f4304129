"""Makes `crates/meno-english/english.vectors`, what is known of English words, from WordLlama (MIT, Lee Miller) and
spacy-lookups-data (MIT, Explosion).

    pip install numpy==2.4.6 safetensors==0.7.0
    pip download --no-deps wordllama==0.4.0.post1 spacy-lookups-data==1.0.5
    unzip wordllama-*.whl -d packages; unzip spacy_lookups_data-*.whl -d packages
    python scripts/word_vectors.py packages crates/meno-english/english.vectors

WordLlama has a vector for each of the 32,000 pieces of the Llama 2 tokenizer. What people say has no capitals, so
pieces that differ in them alone become one, with the mean of their vectors. Pieces of other letters than Latin ones,
digits and apostrophes are left out. Vectors are shortened to unit length, then to WIDTH dimensions (PCA), and stored as
signed bytes. Three more numbers tell how a piece is written: how early its small form and its capitalised form entered
the tokenizer (names have the second alone), and whether it begins a word.

spacy-lookups-data has the frequencies of a million words as they are written, and Brown clusters: words of one cluster
stand in like places. Of the N_WORDS most frequent words, capitals aside, three things are kept: the cluster of the form
that is written most, the share of capitalised forms, and the frequency. A cluster's vector is the mean of those of its
words that are pieces, shortened to CLUSTER_WIDTH dimensions.

The file is safetensors: `pieces`, the names joined by line feeds, those that begin a word with a space before them, in
alphabetical order; `vectors`, a row of signed bytes for each; `words`, joined likewise; `facts`, for each word four bytes:
the number of its cluster, low byte first, the share of capitals and the frequency, both from 0 to 255; `clusters`, a row of
signed bytes for each, the first for words of none.
"""

import gzip
import json
import sys
import unicodedata
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file, save

WIDTH = 93
CLUSTER_WIDTH = 28
N_WORDS = 90_000
START = "▁"
SCALE = 127 / 0.45


def is_kept(name):
    latin = all(c in "'’" or c.isdigit() or "LATIN" in unicodedata.name(c, "") for c in name)
    return bool(name) and latin


def shorten(vectors, width):
    centred = vectors - vectors.mean(0)
    _, _, directions = np.linalg.svd(centred.T @ centred)
    short = centred @ directions[:width].T
    print(f"{len(vectors)} vectors; {width} dimensions keep {(short**2).sum() / (centred**2).sum():.1%} of the variance")
    return short / (np.linalg.norm(short, axis=1, keepdims=True) + 1e-9)


def to_bytes(table):
    return np.clip(np.rint(table * SCALE), -127, 127).astype(np.int8)


def read_lookups(package):
    read = lambda name: json.loads(gzip.decompress((package / f"data/en_lexeme_{name}.json.gz").read_bytes()))
    clusters, ln_probabilities = read("cluster"), read("prob")
    forms = {}
    for form, ln_probability in ln_probabilities.items():
        if is_kept(form):
            forms.setdefault(form.lower(), []).append((np.exp(ln_probability), form))
    frequency = {word: sum(p for p, _ in found) for word, found in forms.items()}
    words = sorted(sorted(frequency, key=lambda word: (-frequency[word], word))[:N_WORDS])
    numbers = {0: 0}
    facts = []
    for word in words:
        known = sorted(((p, form) for p, form in forms[word] if clusters.get(form, 0)), reverse=True)
        cluster = numbers.setdefault(clusters[known[0][1]] if known else 0, len(numbers))
        capitals = sum(p for p, form in forms[word] if form[0] != form[0].lower()) / frequency[word]
        rank = np.clip((np.log(frequency[word]) + 20) / 16, 0, 1)
        facts.append([cluster % 256, cluster // 256, round(255 * capitals), round(255 * rank)])
    return words, np.array(facts, dtype=np.uint8), len(numbers)


def main(packages, target):
    package = packages / "wordllama"
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
    short = shorten(vectors, WIDTH)

    def earliness(name, is_small):
        numbers = [number for letters, number in pieces[name] if (letters == letters.lower()) == is_small]
        return max(0.0, 1 - np.log(min(numbers)) / np.log(len(vocabulary))) if numbers else 0.0

    written = np.array(
        [[0.45 * earliness(name, True), 0.45 * earliness(name, False), 0.2 * name.startswith(" ")] for name in names]
    )
    table = to_bytes(np.concatenate([short, written], axis=1))

    words, facts, n_clusters = read_lookups(packages / "spacy_lookups_data")
    rows = {name: row for row, name in enumerate(names)}
    means = np.zeros((n_clusters, vectors.shape[1]))
    for word, fact in zip(words, facts):
        if " " + word in rows:
            means[int(fact[0]) + 256 * int(fact[1])] += vectors[rows[" " + word]]
    means /= np.linalg.norm(means, axis=1, keepdims=True) + 1e-9
    clusters = to_bytes(np.concatenate([np.zeros((1, CLUSTER_WIDTH)), shorten(means[1:], CLUSTER_WIDTH)]))

    joined = lambda names: np.frombuffer("\n".join(names).encode(), dtype=np.uint8)
    tensors = {"pieces": joined(names), "vectors": table, "words": joined(words), "facts": facts, "clusters": clusters}
    target.write_bytes(save(tensors, metadata={"format": "1"}))
    print(f"{target}: {target.stat().st_size} bytes")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
