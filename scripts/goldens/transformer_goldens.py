"""Golden numbers for the transformer, computed by PyTorch in double precision.

    pip install torch==2.15.0
    python scripts/goldens/transformer_goldens.py

writes `crates/meno/tests/goldens/transformer.json`: one forward and backward pass of the whole model, three steps of AdamW with
groups, and the GELU with its slope.

As in `slot_gated_goldens.py` no parameter is stored: entry i (flat, row-major) of tensor number n is

    f32(shift + scale * sin(1.7 i + 0.9 n + 0.3)),    scale = 0.2, shift = 1 for what norms multiply by, else 0

Weights stand input dimension first. The layers are those of `torch.nn.TransformerEncoderLayer`, which shares nothing with the
code; the likelihood of the boundaries is a sum over all sequences of them. Utterances run one at a time.
"""

import itertools
import json
import math
from pathlib import Path

import torch
from torch.nn import functional as F

torch.set_default_dtype(torch.float64)
GOLDENS = Path(__file__).resolve().parents[2] / "crates/meno/tests/goldens"
FULL_SIZE, N_SAMPLES = 600, 40
VOCABULARY, HIDDEN, LAYERS, HEADS, WIDE, POSITIONS, SLOTS, INTENTS = 24, 32, 2, 2, 48, 40, 3, 3
EPSILON = 1e-6
SHAPE = dict(
    vocabulary=VOCABULARY, hidden=HIDDEN, layers=LAYERS, heads=HEADS, intermediate=WIDE, positions=POSITIONS,
    types=2, norm_epsilon=EPSILON, slots=SLOTS, intents=INTENTS,
)  # fmt: skip

# In the order of their numbers, from 0.
TENSORS = {
    "embeddings.pieces": (VOCABULARY, HIDDEN),
    "embeddings.positions": (POSITIONS, HIDDEN),
    "embeddings.type": (HIDDEN,),
    "embeddings.norm.weight": (HIDDEN,),
    "embeddings.norm.bias": (HIDDEN,),
}
for layer in range(LAYERS):
    for name, shape in {
        "attention.qkv": (HIDDEN, 3 * HIDDEN),
        "attention.output": (HIDDEN, HIDDEN),
        "attention.norm": (HIDDEN,),
        "intermediate": (HIDDEN, WIDE),
        "output": (WIDE, HIDDEN),
        "output.norm": (HIDDEN,),
    }.items():
        TENSORS[f"layer.{layer}.{name}.weight"] = shape
        TENSORS[f"layer.{layer}.{name}.bias"] = shape[-1:]
TENSORS |= {
    "place.weight": (HIDDEN, 3),
    "place.bias": (3,),
    "place.transitions": (9,),
    "slot.weight": (HIDDEN, SLOTS),
    "slot.bias": (SLOTS,),
    "intent.weight": (2 * HIDDEN, INTENTS),
    "intent.bias": (INTENTS,),
}

# Pieces of each word, labels (0 outside, 1 + 2 slot at the beginning, 2 + 2 slot inside) and intent. By falling length.
CLS, SEP = 1, 2
UTTERANCES = [
    ([[5, 6, 7], [8], [9, 10], [11], [5]], [1, 2, 0, 3, 5], 2),
    ([[12], [13, 14], [5, 15]], [0, 5, 6], 0),
    ([[3]], [1], 1),
]
# Learning rates of heads and pieces, and weight decay.
RATE, HEAD_RATE, PIECE_RATE, DECAY, BETAS = 2e-3, 1e-2, 1e-3, 0.1, (0.9, 0.98)
N_STEPS = 3


def formula(number, name, shape):
    n = math.prod(shape)
    shift = 1.0 if "norm.weight" in name else 0.0
    values = shift + 0.2 * torch.sin(1.7 * torch.arange(n, dtype=torch.float64) + 0.9 * number + 0.3)
    return values.float().double().reshape(shape)


def golden(tensor):
    flat = tensor.detach().reshape(-1)
    if len(flat) <= FULL_SIZE:
        return dict(values=flat.tolist())
    indices = [i * (len(flat) - 1) // (N_SAMPLES - 1) for i in range(N_SAMPLES)]
    return dict(
        values=flat[indices].tolist(), indices=indices, sum=flat.sum().item(), sum_abs=flat.abs().sum().item(),
        sum_squares=(flat**2).sum().item(),
    )  # fmt: skip


def layer_of(p, layer):
    module = torch.nn.TransformerEncoderLayer(
        HIDDEN, HEADS, WIDE, dropout=0.0, activation="gelu", layer_norm_eps=EPSILON, batch_first=True
    )
    g = lambda name: p[f"layer.{layer}.{name}"]
    weights = {
        "self_attn.in_proj_weight": g("attention.qkv.weight").T,
        "self_attn.in_proj_bias": g("attention.qkv.bias"),
        "self_attn.out_proj.weight": g("attention.output.weight").T,
        "self_attn.out_proj.bias": g("attention.output.bias"),
        "norm1.weight": g("attention.norm.weight"),
        "norm1.bias": g("attention.norm.bias"),
        "linear1.weight": g("intermediate.weight").T,
        "linear1.bias": g("intermediate.bias"),
        "linear2.weight": g("output.weight").T,
        "linear2.bias": g("output.bias"),
        "norm2.weight": g("output.norm.weight"),
        "norm2.bias": g("output.norm.bias"),
    }
    return lambda x: torch.func.functional_call(module, weights, (x,))


def logits(p, words):
    ids = [CLS, *itertools.chain(*words), SEP]
    firsts = [1 + sum(map(len, words[:i])) for i in range(len(words))]
    x = p["embeddings.pieces"][ids] + p["embeddings.positions"][: len(ids)] + p["embeddings.type"]
    x = F.layer_norm(x, (HIDDEN,), p["embeddings.norm.weight"], p["embeddings.norm.bias"], EPSILON)
    for layer in range(LAYERS):
        x = layer_of(p, layer)(x[None])[0]
    whole = torch.cat([x[0], x[1:-1].mean(0)])
    head = lambda name, x: x @ p[f"{name}.weight"] + p[f"{name}.bias"]
    return head("place", x[firsts]), head("slot", x[firsts]), head("intent", whole)


def boundary_loss(e, transitions, labels):
    gold = [0 if label == 0 else 1 + (label - 1) % 2 for label in labels]
    weights = {}
    for tags in itertools.product(range(3), repeat=len(labels)):
        if any(tag == 2 and before == 0 for before, tag in zip((0, *tags), tags)):
            continue
        weights[tags] = sum(e[t, tag] for t, tag in enumerate(tags)) + sum(
            transitions[3 * a + b] for a, b in zip(tags, tags[1:])
        )
    return torch.logsumexp(torch.stack(list(weights.values())), 0) - weights[tuple(gold)]


def loss(p):
    total = 0
    for words, labels, intent in UTTERANCES:
        e, slots, intents = logits(p, words)
        one = boundary_loss(e, p["place.transitions"], labels) + F.cross_entropy(intents, torch.tensor(intent))
        for row, label in zip(slots, labels):
            if label:
                one = one + F.cross_entropy(row, torch.tensor((label - 1) // 2))
        total = total + one
    return total / len(UTTERANCES)


def groups(p):
    is_head = lambda name: name.split(".")[0] in ("place", "slot", "intent")
    named = [(n, t) for n, t in p.items() if n != "embeddings.pieces"]
    matrix = lambda name, tensor: tensor.dim() > 1 and name.startswith("layer.")
    return [
        dict(params=[t for n, t in named if is_head(n)], lr=HEAD_RATE, weight_decay=0.0),
        dict(params=[t for n, t in named if not is_head(n) and matrix(n, t)], lr=RATE, weight_decay=DECAY),
        dict(params=[t for n, t in named if not is_head(n) and not matrix(n, t)], lr=RATE, weight_decay=0.0),
        dict(params=[p["embeddings.pieces"]], lr=PIECE_RATE, weight_decay=0.0),
    ]


def main():
    p = {name: formula(n, name, shape).requires_grad_() for n, (name, shape) in enumerate(TENSORS.items())}
    numbered = [
        dict(name=name, number=n, shape=shape, scale=0.2, shift=1.0 if "norm.weight" in name else 0.0)
        for n, (name, shape) in enumerate(TENSORS.items())
    ]
    passed = [logits(p, words) for words, _, _ in UTTERANCES]
    value = loss(p)
    value.backward()
    gradients = {name: golden(tensor.grad) for name, tensor in p.items()}
    optimizer = torch.optim.AdamW(groups(p), betas=BETAS, eps=1e-8)
    losses = []
    for _ in range(N_STEPS):
        optimizer.zero_grad()
        step = loss(p)
        step.backward()
        losses.append(step.item())
        optimizer.step()
    x = torch.linspace(-7, 7, 113).float().double().requires_grad_()
    y = F.gelu(x)
    y.sum().backward()
    out = dict(
        shape=SHAPE,
        tensors=numbered,
        utterances=[dict(words=w, labels=labels, intent=i) for w, labels, i in UTTERANCES],
        place_logits=[golden(e) for e, _, _ in passed],
        slot_logits=[golden(s) for _, s, _ in passed],
        intent_logits=[golden(i) for _, _, i in passed],
        loss=value.item(),
        gradients=gradients,
        training=dict(
            rate=RATE, head_rate=HEAD_RATE, piece_rate=PIECE_RATE, weight_decay=DECAY, beta2=BETAS[1], losses=losses,
            parameters={name: golden(tensor) for name, tensor in p.items()},
        ),
        gelu=dict(x=x.tolist(), y=y.tolist(), slope=x.grad.tolist()),
    )  # fmt: skip
    (GOLDENS / "transformer.json").write_text(json.dumps(out, separators=(",", ":")) + "\n")


main()
