"""Golden numbers for the span tagger, computed by JAX in double precision.

    pip install jax==0.10.2 numpy==2.4.6
    python scripts/goldens/span_tagger_goldens.py

writes `crates/meno/tests/goldens/span_tagger.json`: one forward and backward pass of the whole model.

As in `slot_gated_goldens.py` no parameter is stored: entry i (flat, row-major) of tensor number n is

    f32(scale * sin(1.7 i + 0.9 n + 0.3)),    scale = 0.4

and frozen vectors are tensor number 100. Weights stand input dimension first. The likelihood of the chain is a sum over
all sequences of places, one after the other, so nothing of the code's recursions enters; utterances run one at a time.
"""

import itertools
import json
from pathlib import Path

import jax
import numpy as np
from jax import numpy as jnp

jax.config.update("jax_enable_x64", True)
GOLDENS = Path(__file__).resolve().parents[2] / "crates/meno/tests/goldens"
FULL_SIZE, N_SAMPLES = 600, 40
E = C = F = S = H = 16
SIZES = dict(words=12, characters=9, slots=3, intents=3, embedding=E, character=C, filters=F, vector=S, hidden=H, layers=2)

# In the order of their numbers, from 0.
TENSORS = {
    "embedding": (12, E),
    "characters.embedding": (9 * C,),
    "characters.filters": (3 * C, F),
    "characters.bias": (F,),
    "lstm.input": (E + F + S, 8 * H),
    "lstm.bias": (8 * H,),
    "lstm.recurrent_forward": (H, 4 * H),
    "lstm.recurrent_backward": (H, 4 * H),
    "upper.input": (2 * H, 8 * H),
    "upper.bias": (8 * H,),
    "upper.recurrent_forward": (H, 4 * H),
    "upper.recurrent_backward": (H, 4 * H),
    "place.weight": (2 * H, 3),
    "place.bias": (3,),
    "place.transitions": (9,),
    "slot.weight": (2 * H, 3),
    "slot.bias": (3,),
    "intent.weight": (6 * H, 3),
    "intent.bias": (3,),
}
FORMS = [[1, 3, 2], [1, 4, 5, 6, 2], [1, 7, 7, 0, 2], [1, 8, 3, 4, 5, 6, 2]]
UTTERANCES = [
    {"words": [1, 2, 3, 0, 2], "forms": [0, 1, 2, 3, 1], "labels": [0, 1, 2, 3, 0], "intent": 0},
    {"words": [5, 0, 11], "forms": [3, 3, 0], "labels": [5, 6, 1], "intent": 2},
    {"words": [7], "forms": [2], "labels": [3], "intent": 1},
]
SLOT_WEIGHT = 2.0


def formula(number, shape, scale=0.4):
    i = np.arange(int(np.prod(shape)), dtype=np.float64)
    return np.float32(scale * np.sin(1.7 * i + 0.9 * number + 0.3)).astype(np.float64).reshape(shape)


def lstm(p, name, x):
    gates = x @ p[f"{name}.input"] + p[f"{name}.bias"]
    outputs, last = [], []
    for direction, suffix in enumerate(["forward", "backward"]):
        h = c = jnp.zeros(H)
        states = [None] * len(x)
        order = range(len(x)) if direction == 0 else reversed(range(len(x)))
        for t in order:
            z = gates[t, direction * 4 * H : (direction + 1) * 4 * H] + h @ p[f"{name}.recurrent_{suffix}"]
            i, f, g, o = jnp.split(z, 4)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            h = jax.nn.sigmoid(o) * jnp.tanh(c)
            states[t] = h
        outputs.append(jnp.stack(states))
        last += [c, h]
    return jnp.concatenate(outputs, axis=1), jnp.concatenate(last)


def spell(p, characters):
    rows = p["characters.embedding"].reshape(-1, C)[np.array(characters)]
    windows = jnp.stack([rows[t : t + 3].reshape(-1) for t in range(len(characters) - 2)])
    return jax.nn.relu(windows @ p["characters.filters"] + p["characters.bias"]).max(axis=0)


def run(p, vectors, utterance):
    x = jnp.stack(
        [
            jnp.concatenate([p["embedding"][word], spell(p, FORMS[form]), vectors[form]])
            for word, form in zip(utterance["words"], utterance["forms"])
        ]
    )
    lower, _ = lstm(p, "lstm", x)
    h, last = lstm(p, "upper", lower)
    intent = jnp.concatenate([h.mean(axis=0), last]) @ p["intent.weight"] + p["intent.bias"]
    return h @ p["place.weight"] + p["place.bias"], h @ p["slot.weight"] + p["slot.bias"], intent


def chain(places, transitions, gold):
    n = len(places)
    scores = []
    for y in itertools.product(range(3), repeat=n):
        if y[0] == 2 or any((a, b) == (0, 2) for a, b in zip(y, y[1:])):
            continue
        score = sum(places[t, y[t]] for t in range(n)) + sum(transitions[3 * a + b] for a, b in zip(y, y[1:]))
        scores.append(score)
        if y == tuple(gold):
            right = score
    return jax.nn.logsumexp(jnp.stack(scores)) - right


def loss(p, vectors):
    total = 0.0
    for utterance in UTTERANCES:
        places, slots, intent = run(p, vectors, utterance)
        labels = utterance["labels"]
        gold = [0 if label == 0 else 1 + (label - 1) % 2 for label in labels]
        of_words = chain(places, p["place.transitions"], gold)
        log_slots = jax.nn.log_softmax(slots)
        of_words -= sum(log_slots[t, (label - 1) // 2] for t, label in enumerate(labels) if label)
        total += SLOT_WEIGHT * of_words / len(labels) - jax.nn.log_softmax(intent)[utterance["intent"]]
    return total / len(UTTERANCES)


def golden(array):
    flat = np.asarray(array, dtype=np.float64).reshape(-1)
    if flat.size <= FULL_SIZE:
        return {"values": flat.tolist()}
    indices = np.linspace(0, flat.size - 1, N_SAMPLES).astype(int)
    sums = {"sum": flat.sum(), "sum_abs": np.abs(flat).sum(), "sum_squares": (flat**2).sum()}
    return {"indices": indices.tolist(), "values": flat[indices].tolist(), **sums}


def main():
    p = {name: jnp.array(formula(number, shape)) for number, (name, shape) in enumerate(TENSORS.items())}
    vectors = formula(100, (len(FORMS), S))
    value, gradients = jax.value_and_grad(loss)(p, vectors)
    passes = [run(p, vectors, utterance) for utterance in UTTERANCES]
    document = {
        "sizes": SIZES,
        "tensors": [
            {"name": name, "number": number, "shape": list(shape), "scale": 0.4}
            for number, (name, shape) in enumerate(TENSORS.items())
        ],
        "vectors": {"number": 100, "shape": [len(FORMS), S], "scale": 0.4},
        "forms": FORMS,
        "utterances": UTTERANCES,
        "slot_weight": SLOT_WEIGHT,
        "place_logits": [golden(places) for places, _, _ in passes],
        "slot_logits": [golden(slots) for _, slots, _ in passes],
        "intent_logits": [golden(intent) for _, _, intent in passes],
        "loss": float(value),
        "gradients": {name: golden(gradient) for name, gradient in gradients.items()},
    }
    (GOLDENS / "span_tagger.json").write_text(json.dumps(document, indent=1) + "\n")
    print(f"loss {float(value):.9f}")


if __name__ == "__main__":
    main()
