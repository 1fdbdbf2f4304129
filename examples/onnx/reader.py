#!/usr/bin/env python3
"""Runs what `meno export MODEL --onnx DIR` wrote, with ONNX Runtime and NumPy alone.

    reader.py DIR < words.txt        words with spaces between them, an utterance a line; JSON comes out, a line each

The graph has the network. Here is the rest: words become numbers before it, and after it, for a span tagger, boundaries and slots
become spans. docs/onnx.md has the formulas. `Tagger.tag` gives the labels that `meno tag --words` gives as first choices.
"""

import json
import pathlib
import struct
import sys

import numpy as np
import onnxruntime

OUTSIDE, BEGIN, INSIDE = 0, 1, 2
UNKNOWN_WORD = 0
OTHER, WORD_START, WORD_END, FIRST_CHARACTER = 0, 1, 2, 3


class Tagger:
    """A tagger that `meno export` wrote."""

    def __init__(self, folder, threads=1):
        folder = pathlib.Path(folder)
        self.about = json.loads((folder / "meno.json").read_text(encoding="utf-8"))
        if (self.about["format"], self.about["version"]) != ("meno-onnx", 1):
            raise ValueError(f"{folder}: another format than this reader knows")
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        self.session = onnxruntime.InferenceSession(
            str(folder / "model.onnx"), options, providers=["CPUExecutionProvider"]
        )
        self.inputs = {node.name for node in self.session.get_inputs()}
        self.outputs = [node.name for node in self.session.get_outputs()]
        self.words = {word: number for number, word in enumerate(self.about["vocabulary"])}
        if "characters" in self.about:
            alphabet = self.about["characters"]["alphabet"]
            self.alphabet = {c: FIRST_CHARACTER + number for number, c in enumerate(alphabet)}
        if self.about.get("vectors"):
            glove = self.about.get("glove")
            self.vectors = Vectors(folder / self.about["vectors"], glove and folder / glove)

    def tag(self, words):
        """The label of each word, and the intent."""
        labels, intent = [], None
        for start in range(0, len(words), self.about["max_words"]):
            piece = words[start : start + self.about["max_words"]]
            # The n-grams are those of the whole utterance, as is the intent of its first piece.
            emissions = self.emit(piece, words)
            if intent is None:
                intent = self.about["intents"][int(emissions["intents"].argmax())]
            if "boundaries" in emissions:
                labels += self.decode(piece, emissions)
            else:
                labels += [self.about["labels"][row.argmax()] for row in emissions["labels"]]
        return labels, intent or ""

    def emit(self, words, utterance=None):
        """What leaves the graph, by name."""
        forms = [self.vocabulary_form(word) for word in words]
        feeds = {"words": np.array([self.words.get(form, UNKNOWN_WORD) for form in forms], np.int64)}
        if "characters" in self.inputs:
            feeds["characters"] = self.characters(forms)
        if "vectors" in self.inputs:
            feeds["vectors"] = np.stack([self.vectors.of(form) for form in forms])
        if "ngrams" in self.inputs:
            everything = forms if utterance is None else [self.vocabulary_form(word) for word in utterance]
            feeds["ngrams"] = count_ngrams(everything, self.about["ngrams"]["buckets"])
        return dict(zip(self.outputs, self.session.run(self.outputs, feeds)))

    def vocabulary_form(self, word):
        is_number = self.about["digits"] and word != "" and all(c in "0123456789" for c in word)
        return "0" if is_number else word

    def characters(self, words):
        rows = []
        for word in words:
            ids = [self.alphabet.get(c, OTHER) for c in word[: self.about["characters"]["most"]]]
            rows.append([WORD_START, *(ids or [OTHER]), WORD_END])
        width = max(len(row) for row in rows)
        return np.array([row + [-1] * (width - len(row)) for row in rows], np.int64)

    def decode(self, words, emissions):
        """The labels of a span tagger: those of the likeliest spans that are not too doubtful."""
        labels = ["O"] * len(words)
        for span in self.spans(words, emissions):
            if not span["doubtful"]:
                labels[span["start"] : span["end"]] = ["I-" + span["slot"]] * (span["end"] - span["start"])
                labels[span["start"]] = "B-" + span["slot"]
        return labels

    def spans(self, words, emissions):
        """The likeliest spans, with their slots and how uncertain they are."""
        if "slots" not in emissions:
            return []
        boundaries, transitions = (emissions[name].astype(np.float64) for name in ("boundaries", "transitions"))
        slots = log_softmax(emissions["slots"].astype(np.float64))
        weights = span_weights(boundaries, transitions, emissions.get("span_scores", np.zeros((len(words), 0))))
        joint = weights + self.about.get("joint_slots", 0.0) * slot_weights(slots)
        lowered = boundaries[:, OUTSIDE] - emissions["outside_penalties"]
        marginal = span_marginals(boundaries[:, OUTSIDE], weights, transitions)
        doubt, threshold = self.about["doubt"], self.about["threshold"]
        found = []
        for start, end in likeliest_spans(lowered, joint, transitions):
            slot = int(slots[start:end].sum(axis=0).argmax())
            if found and self.joins(slot, words, found[-1], (start, end)):
                start = found.pop()["start"]
            disagreement = -slots[start:end, slot].sum()
            uncertainty = self.uncertainty(words[start:end], slot, -np.log(marginal(start, end)), disagreement)
            unknown = threshold is not None and uncertainty > threshold
            doubtful = doubt is not None and uncertainty > doubt
            found.append({
                "start": start, "end": end, "slot": self.about["slots"][slot], "uncertainty": float(uncertainty),
                "unknown": bool(unknown), "doubtful": bool(doubtful and not unknown),
            })  # fmt: skip
        return found

    def joins(self, slot, words, before, span):
        """Whether a span and the one before it are one: of a slot of which no two touch in training, not both known."""
        touching = self.about["lexicon"].get("touching")
        if touching is None or slot in touching or (before["end"], before["slot"]) != (span[0], self.about["slots"][slot]):
            return False
        values = self.about["lexicon"]["values"]
        parts = words[before["start"] : before["end"]], words[span[0] : span[1]]
        return not all(value_key(slot, map(self.vocabulary_form, part)) in values for part in parts)

    def uncertainty(self, words, slot, boundaries, disagreement):
        score, lexicon = self.about["score"], self.about["lexicon"]
        forms = [self.vocabulary_form(word) for word in words]
        ids = [self.words.get(form, UNKNOWN_WORD) for form in forms]
        known = set(lexicon["slot_words"][slot])
        new_words = sum(word == UNKNOWN_WORD or word not in known for word in ids) / len(ids)
        new_value = value_key(slot, forms) not in lexicon["values"]
        surprise = lexicon["surprise"][slot] if new_value and lexicon["surprise"] else 0.0
        return (
            score["boundaries"] * np.log(boundaries + score["floor"])
            + score["slot"] * np.log(disagreement + score["floor"])
            + score["new_words"] * new_words
            + score["new_value"] * new_value
            + score["surprise"] * surprise
        )


class Vectors:
    """Frozen vectors of words, put together from those of their pieces, and what words mean where that is there."""

    LENGTH, MAX_PIECE, MAX_WORD, CLUSTER_SCALE = 4.0, 20, 40, 2.0 * 0.45 / 127.0

    def __init__(self, path, glove=None):
        self.glove = Glove(glove) if glove else None
        tensors = read_safetensors(path)
        self.rows, self.facts = tensors["vectors"].view(np.int8), tensors["facts"]
        self.clusters = tensors["clusters"].view(np.int8)
        self.pieces, self.words = (
            {name: number for number, name in enumerate(tensors[names].tobytes().decode().split("\n"))}
            for names in ("pieces", "words")
        )

    def of(self, word):
        total = np.zeros(self.rows.shape[1], np.float32)
        for piece, length in self.cut(word):
            total += np.float32(length) * self.rows[piece].astype(np.float32)
        norm = np.sqrt((total * total).sum())
        if norm > 0:
            total *= np.float32(self.LENGTH) / norm
        rest = np.zeros(self.clusters.shape[1] + 4, np.float32)
        if word in self.words:
            low, high, capitals, frequency = (int(byte) for byte in self.facts[self.words[word]])
            cluster = low + 256 * high
            rest[:-4] = self.clusters[cluster].astype(np.float32) * np.float32(self.CLUSTER_SCALE)
            rest[-4:] = [capitals / 127.5 - 1, frequency / 127.5 - 1, 1, cluster > 0]
        return np.concatenate([total, rest, *([self.glove.of(word)] if self.glove else [])])

    def cut(self, word):
        """The fewest pieces that make up a word, with the number of their bytes; letters in no piece are left out."""
        spaced, ends, at = " " + word.lower(), [], 1
        for letter in spaced[1:]:
            at += len(letter.encode())
            ends.append(at)
        ends = [end for end in ends if end <= self.MAX_WORD]
        spaced = spaced.encode()
        best = {0: (0, None, 0), 1: (1, None, 0)}
        for number, end in enumerate(ends):
            before = ends[number - 1] if number else 1
            choice = (best[before][0] + 2, None, before)
            for start in [0, *ends[:number]]:
                if end - start <= self.MAX_PIECE and best[start][0] + 1 < choice[0]:
                    piece = self.pieces.get(spaced[start:end].decode())
                    if piece is not None:
                        choice = (best[start][0] + 1, piece, start)
            best[end] = choice
        pieces, end = [], ends[-1] if ends else 0
        while end > 1:
            _, piece, start = best[end]
            if piece is not None:
                pieces.append((piece, end - start))
            end = start
        return pieces


class Glove:
    """GloVe vectors of words, compressed by product quantisation."""

    SCALE = Vectors.LENGTH * 0.45 / 127.0

    def __init__(self, path):
        tensors = read_safetensors(path)
        self.keys = tensors["keys"].view("<u4").reshape(-1)
        self.codes = tensors["codes"]
        self.centroids = tensors["centroids"].view(np.int8).reshape(self.codes.shape[1], 256, -1)

    def of(self, word):
        n_parts, _, part = self.centroids.shape
        vector = np.zeros(n_parts * part + 1, np.float32)
        row = int(np.searchsorted(self.keys, fnv(word.encode())))
        if row < len(self.keys) and self.keys[row] == fnv(word.encode()):
            chosen = self.centroids[np.arange(n_parts), self.codes[row]]
            vector[:-1] = chosen.astype(np.float32).reshape(-1) * np.float32(self.SCALE)
            vector[-1] = 1
        return vector


def read_safetensors(path):
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    tensors = {}
    for name, about in json.loads(data[8 : 8 + length]).items():
        if name != "__metadata__":
            start, end = (8 + length + offset for offset in about["data_offsets"])
            shape = about["shape"] if about["dtype"] in ("U8", "I8") else [-1]
            tensors[name] = np.frombuffer(data[start:end], np.uint8).reshape(shape)
    return tensors


def fnv(data, key=0x811C9DC5):
    for byte in data:
        key = ((key ^ byte) * 0x01000193) & 0xFFFFFFFF
    return key


def value_key(slot, forms):
    """The number of a value in its slot."""
    key = fnv(struct.pack("<I", slot))
    for form in forms:
        key = fnv(struct.pack("<I", fnv(form.encode())), key)
    return key


def count_ngrams(words, buckets):
    """How often each bucket of word n-grams and of character n-grams occurs."""
    counts = np.zeros((2, buckets), np.float32)
    bucket = lambda key: (key ^ (key >> 15)) % buckets
    previous = None
    for word in words:
        key = fnv(word.encode())
        counts[0, bucket(key)] += 1
        if previous is not None:
            counts[0, bucket(fnv(word.encode(), fnv(b" ", previous)))] += 1
        previous = key
        padded = f" {word} "
        for n in range(2, 6):
            for start in range(len(padded) - n + 1):
                counts[1, bucket(fnv(padded[start : start + n].encode(), 0x7EE3623A))] += 1
    return counts


def log_softmax(logits):
    shifted = logits - logits.max(axis=-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))


def span_weights(boundaries, transitions, scores):
    """What the span from each first word to each end adds to the log of a weight; `scores` are those of the shorter ones."""
    n, longest = scores.shape
    weights = np.full((n, n + 1), -np.inf)
    steps = np.array([0.0, transitions[BEGIN, INSIDE], *[transitions[INSIDE, INSIDE]] * n])
    for start in range(n):
        logits = np.append(boundaries[start, BEGIN], boundaries[start + 1 :, INSIDE])
        weights[start, start + 1 :] = (logits + steps[: n - start]).cumsum()
        weights[start, start + 1 : start + 1 + longest] += scores[start, : n - start]
    return weights


def slot_weights(slots):
    """The log probability of the best slot for all words of each span."""
    n = len(slots)
    weights = np.zeros((n, n + 1))
    for start in range(n):
        weights[start, start + 1 :] = slots[start:].cumsum(axis=0).max(axis=1)
    return weights


def sum_up(outside, spans, transitions, total):
    """For each number of words the total of all ways through them, by the last tag, and with the step to outside or begin."""
    n = len(outside)
    ways, steps = np.full((n + 1, 3), -np.inf), np.zeros((n + 1, 2))
    for end in range(1, n + 1):
        ways[end, OUTSIDE] = steps[end - 1, OUTSIDE] + outside[end - 1]
        ways[end, BEGIN] = steps[end - 1, BEGIN] + spans[end - 1, end]
        ways[end, INSIDE] = total.reduce(steps[: end - 1, BEGIN] + spans[: end - 1, end], initial=-np.inf)
        steps[end] = total.reduce(ways[end][:, None] + transitions[:, :INSIDE], axis=0)
    return ways, steps


def likeliest_spans(outside, spans, transitions):
    """First word and end of each span of the likeliest way through all words."""
    ways, steps = sum_up(outside, spans, transitions, np.maximum)
    found, end = [], len(outside)
    tag = ways[end].argmax()
    while end > 0:
        start = end - 1
        if tag == INSIDE:
            start = int((steps[:start, BEGIN] + spans[:start, end]).argmax())
        if tag != OUTSIDE:
            found.append((start, end))
        tag = (ways[start] + transitions[:, min(tag, BEGIN)]).argmax()
        end = start
    return found[::-1]


def span_marginals(outside, spans, transitions):
    """A function of start and end: how likely there is a span of exactly these words."""
    ln_sum = lambda *weights: np.logaddexp.reduce(sum_up(*weights, transitions, np.logaddexp)[0][-1])
    ln_z = ln_sum(outside, spans)

    def marginal(start, end):
        # The share of the ways that have the span: in the others one of these words is outside or in another span.
        with_it, rest = spans.copy(), outside.copy()
        with_it[:end, start + 1 :] = -np.inf
        with_it[start, end] = spans[start, end]
        rest[start:end] = -np.inf
        return max(np.exp(ln_sum(rest, with_it) - ln_z), np.finfo(np.float32).tiny)

    return marginal


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: reader.py DIR < words.txt")
    tagger = Tagger(sys.argv[1])
    for line in sys.stdin:
        words = line.split()
        labels, intent = tagger.tag(words)
        print(json.dumps({"words": words, "labels": labels, "intent": intent}, ensure_ascii=False))


if __name__ == "__main__":
    main()
