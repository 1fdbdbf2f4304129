"""Golden numbers for the slot-gated model and its parts, computed by PyTorch in double precision.

    pip install torch==2.15.0 numpy==2.4.6
    python scripts/goldens/slot_gated_goldens.py

writes `crates/meno/tests/goldens/slot_gated.json` (the whole model: one forward and backward pass, then five
training steps) and `crates/meno/tests/goldens/ops.json` (one part at a time).

No parameter or input is stored. Entry i (flat, row-major) of tensor number n is

    f32(scale * sin(1.7 i + 0.9 n + 0.3)),    scale = 0.4 unless the JSON says otherwise

computed in f64, rounded to f32 and widened again. The JSON names the number and the shape of every tensor.
Weights stand input dimension first, y = x W + b.

A gradient of up to 600 entries is stored whole ("values"); a larger one as its sum, the sum of its absolute
values, the sum of its squares, and 40 entries ("indices", "values").

The LSTM is written out and checked against `torch.nn.LSTM` before anything is saved; utterances run one at a
time, so no padding or mask can enter the numbers.
"""

import json
from pathlib import Path

import numpy as np
import torch
from torch.nn import functional as F

GOLDENS = Path(__file__).resolve().parents[2] / "crates/meno/tests/goldens"
FORMULA = "f32(scale * sin(1.7 * i + 0.9 * number + 0.3))"
FULL_SIZE = 600
N_SAMPLES = 40

EMBEDDING, HIDDEN, N_WORDS, N_LABELS, N_INTENTS = 16, 16, 12, 5, 3
WIDTH, FINAL = 2 * HIDDEN, 4 * HIDDEN

# In the order of their numbers, from 0.
MODEL_TENSORS = {
    "embedding": (N_WORDS, EMBEDDING),
    "lstm.input": (EMBEDDING, 2 * 4 * HIDDEN),  # forward i, f, g, o, then backward i, f, g, o
    "lstm.bias": (2 * 4 * HIDDEN,),
    "lstm.recurrent_forward": (HIDDEN, 4 * HIDDEN),
    "lstm.recurrent_backward": (HIDDEN, 4 * HIDDEN),
    "slot_attention.key": (WIDTH, WIDTH),
    "slot_attention.query": (WIDTH, WIDTH),
    "slot_attention.query_bias": (WIDTH,),
    "slot_attention.vector": (WIDTH,),
    "intent_attention.key": (WIDTH, WIDTH),
    "intent_attention.query": (FINAL, WIDTH),
    "intent_attention.query_bias": (WIDTH,),
    "intent_attention.vector": (WIDTH,),
    "gate.weight": (WIDTH + FINAL, WIDTH),
    "gate.bias": (WIDTH,),
    "gate.vector": (WIDTH,),
    "slot.weight": (2 * WIDTH, N_LABELS),
    "slot.bias": (N_LABELS,),
    "intent.weight": (WIDTH + FINAL, N_INTENTS),
    "intent.bias": (N_INTENTS,),
}

# Word 0 is in no batch and never moves. Words 4 and 6 are in the first batch only: they meet a gradient in
# steps 1 and 4 and drift on their momentum in 2, 3 and 5. So do 11 and 10, of the third batch, in 4 and 5.
BATCHES = [
    {
        "ids": [[1, 2, 3, 4, 2, 5, 1], [6, 3, 1, 2], [4]],
        "labels": [[0, 1, 2, 0, 3, 4, 0], [1, 2, 0, 0], [3]],
        "intents": [0, 2, 1],
    },
    {
        "ids": [[7, 8, 9], [8, 1], [9, 9, 7, 8, 7]],
        "labels": [[4, 0, 1], [0, 3], [1, 2, 0, 3, 4]],
        "intents": [1, 1, 0],
    },
    {
        "ids": [[10], [11, 2, 10, 3, 11, 7], [5, 10]],
        "labels": [[2], [0, 0, 1, 2, 2, 4], [3, 4]],
        "intents": [2, 0, 2],
    },
]
STEPS = [0, 1, 2, 0, 1]
LEARNING_RATE, MAX_NORM = 1e-3, 5.0


# --- tensors by formula, numbers to JSON -----------------------------------------------------------------


def sine(number: int, shape: tuple[int, ...], scale: float = 0.4) -> torch.Tensor:
    i = np.arange(int(np.prod(shape)), dtype=np.float64)
    values = scale * np.sin(1.7 * i + 0.9 * number + 0.3)
    return torch.from_numpy(values.astype(np.float32).astype(np.float64)).reshape(shape)


class Inputs:
    """Tensors by formula, numbered as they are asked for, and their description for the JSON."""

    def __init__(self):
        self.description = {}

    def add(self, name: str, shape: tuple[int, ...], scale: float = 0.4, grad: bool = True) -> torch.Tensor:
        number = len(self.description)
        self.description[name] = {"number": number, "shape": list(shape), "scale": scale}
        return sine(number, shape, scale).requires_grad_(grad)


def number(value) -> float:
    """Twelve digits: far below the error of f32, and the files stay small."""
    return float(f"{torch.as_tensor(value).item():.12g}")


def numbers(tensor: torch.Tensor) -> list[float]:
    return [number(value) for value in tensor.detach().flatten()]


def whole(tensor: torch.Tensor) -> dict:
    return {"shape": list(tensor.shape), "values": numbers(tensor)}


def checksum(tensor: torch.Tensor) -> dict:
    flat = tensor.detach().flatten()
    indices = torch.arange(min(N_SAMPLES, flat.numel())) * flat.numel() // min(N_SAMPLES, flat.numel())
    return {
        "shape": list(tensor.shape),
        "sum": number(flat.sum()),
        "sum_abs": number(flat.abs().sum()),
        "sum_squares": number((flat * flat).sum()),
        "indices": indices.tolist(),
        "values": numbers(flat[indices]),
    }


def summary(tensor: torch.Tensor) -> dict:
    return whole(tensor) if tensor.numel() <= FULL_SIZE else checksum(tensor)


def gradients(tensors: dict[str, torch.Tensor]) -> dict:
    return {name: summary(tensor.grad) for name, tensor in tensors.items()}


# --- the parts -------------------------------------------------------------------------------------------


def lstm(x, input_weight, bias, recurrent):
    """One direction over x [words, E]. Gates i, f, g, o. Gives h [words, H] and the final c and h."""
    hidden = recurrent.shape[0]
    h = c = torch.zeros(hidden, dtype=x.dtype)
    states = []
    for word in x:
        i, f, g, o = (word @ input_weight + bias + h @ recurrent).split(hidden)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        h = torch.sigmoid(o) * torch.tanh(c)
        states.append(h)
    return torch.stack(states), c, h


def attend(states, key, query, query_bias, vector, asking):
    """c_i = sum_j softmax_j(v . tanh(A h_j + B q_i + b)) h_j for every row q_i of `asking`."""
    keys = states @ key
    queries = asking @ query + query_bias
    scores = torch.tanh(keys.unsqueeze(0) + queries.unsqueeze(1)) @ vector
    return scores.softmax(-1) @ states


def gate(contexts, intent_input, weight, bias, vector):
    """g_i = v . tanh(c_i + W [d ; final] + b), one number a word."""
    return torch.tanh(contexts + intent_input @ weight + bias) @ vector


def slot_gated(p: dict[str, torch.Tensor], ids: list[int]):
    """Slot logits [words, labels] and intent logits [intents] of one utterance."""
    x = p["embedding"][ids]
    input_forward, input_backward = p["lstm.input"].chunk(2, dim=1)
    bias_forward, bias_backward = p["lstm.bias"].chunk(2)
    h_forward, fw_c, fw_h = lstm(x, input_forward, bias_forward, p["lstm.recurrent_forward"])
    h_backward, bw_c, bw_h = lstm(x.flip(0), input_backward, bias_backward, p["lstm.recurrent_backward"])
    states = torch.cat([h_forward, h_backward.flip(0)], dim=1)
    final = torch.cat([fw_c, fw_h, bw_c, bw_h])

    def attention(name, asking):
        parts = (p[f"{name}_attention.{part}"] for part in ("key", "query", "query_bias", "vector"))
        return attend(states, *parts, asking)

    contexts = attention("slot", states)
    intent_input = torch.cat([attention("intent", final.unsqueeze(0))[0], final])
    gates = gate(contexts, intent_input, p["gate.weight"], p["gate.bias"], p["gate.vector"])
    slot_input = torch.cat([gates.unsqueeze(1) * contexts, states], dim=1)
    slot_logits = slot_input @ p["slot.weight"] + p["slot.bias"]
    return slot_logits, intent_input @ p["intent.weight"] + p["intent.bias"]


def batch_logits(p, batch):
    outputs = [slot_gated(p, ids) for ids in batch["ids"]]
    return [slots for slots, _ in outputs], torch.stack([intent for _, intent in outputs])


def batch_loss(batch, slot_logits, intent_logits):
    """Mean over the batch of (mean over the utterance's words of CE) + mean over the batch of intent CE."""
    word_losses = [F.cross_entropy(logits, torch.tensor(y)) for logits, y in zip(slot_logits, batch["labels"])]
    return torch.stack(word_losses).mean() + F.cross_entropy(intent_logits, torch.tensor(batch["intents"]))


def check_lstm_against_torch():
    layer = torch.nn.LSTM(EMBEDDING, HIDDEN, dtype=torch.float64)
    x, weight, bias, recurrent = (
        sine(n, shape)
        for n, shape in enumerate([(5, EMBEDDING), (EMBEDDING, 4 * HIDDEN), (4 * HIDDEN,), (HIDDEN, 4 * HIDDEN)])
    )
    with torch.no_grad():
        layer.weight_ih_l0.copy_(weight.T)
        layer.weight_hh_l0.copy_(recurrent.T)
        layer.bias_ih_l0.copy_(bias)
        layer.bias_hh_l0.zero_()
        expected, (expected_h, expected_c) = layer(x)
        states, c, h = lstm(x, weight, bias, recurrent)
    torch.testing.assert_close(states, expected, rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(c, expected_c[0], rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(h, expected_h[0], rtol=1e-12, atol=1e-12)


# --- the whole model -------------------------------------------------------------------------------------


def model_parameters() -> dict[str, torch.Tensor]:
    return {name: sine(n, shape).requires_grad_() for n, (name, shape) in enumerate(MODEL_TENSORS.items())}


def model_goldens() -> dict:
    p = model_parameters()
    batch = BATCHES[0]
    slot_logits, intent_logits = batch_logits(p, batch)
    loss = batch_loss(batch, slot_logits, intent_logits)
    loss.backward()
    return {
        "about": "slot-gated model, no dropout, f64; made by scripts/goldens/slot_gated_goldens.py",
        "torch": torch.__version__.partition("+")[0],
        "formula": FORMULA,
        "loss_is": "mean over utterances of mean over words of CE, plus mean over utterances of intent CE",
        "sizes": {
            "embedding": EMBEDDING,
            "hidden": HIDDEN,
            "words": N_WORDS,
            "labels": N_LABELS,
            "intents": N_INTENTS,
        },
        "tensors": [
            {"name": name, "number": n, "shape": list(shape), "scale": 0.4}
            for n, (name, shape) in enumerate(MODEL_TENSORS.items())
        ],
        "batches": BATCHES,
        "pass": {
            "batch": 0,
            "slot_logits": [whole(logits) for logits in slot_logits],
            "intent_logits": whole(intent_logits),
            "loss": number(loss),
            "gradients": gradients(p),
        },
        "training": training_goldens(),
    }


def training_goldens() -> dict:
    """Five steps of Adam on every parameter, embedding rows outside the batch included."""
    p = model_parameters()
    optimizer = torch.optim.Adam(p.values(), lr=LEARNING_RATE, betas=(0.9, 0.999), eps=1e-8)
    steps = []
    for batch_number in STEPS:
        batch = BATCHES[batch_number]
        loss = batch_loss(batch, *batch_logits(p, batch))
        optimizer.zero_grad()
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(p.values(), MAX_NORM)
        optimizer.step()
        with torch.no_grad():
            loss_after = batch_loss(batch, *batch_logits(p, batch))
        steps.append(
            {
                "batch": batch_number,
                "loss_before": number(loss),
                "gradient_norm": number(norm),
                "loss_after": number(loss_after),
            }
        )
    return {
        "optimizer": {
            "name": "adam",
            "learning_rate": LEARNING_RATE,
            "betas": [0.9, 0.999],
            "eps": 1e-8,
            "max_norm": MAX_NORM,
        },
        "steps": steps,
        "parameters": {name: checksum(tensor) for name, tensor in p.items()},
        "embedding": whole(p["embedding"]),
    }


# --- one part at a time ----------------------------------------------------------------------------------


def golden(inputs: Inputs, tensors: dict, outputs: dict, upstream: dict, **extra) -> dict:
    """Backward of sum(upstream * output) over the outputs that have an upstream gradient."""
    sum((upstream[name] * outputs[name]).sum() for name in upstream).backward()
    return {
        "inputs": inputs.description,
        **extra,
        "outputs": {name: summary(output) for name, output in outputs.items()},
        "upstream": {name: f"d_{name}" for name in upstream},
        "gradients": gradients(tensors),
    }


def part_golden(shapes: dict[str, tuple[int, ...]], compute, **extra) -> dict:
    """`compute` maps the tensors to named outputs; each output gets an upstream gradient `d_<output>`."""
    inputs = Inputs()
    tensors = {name: inputs.add(name, shape) for name, shape in shapes.items()}
    outputs = compute(**tensors)
    upstream = {name: inputs.add(f"d_{name}", tuple(output.shape), grad=False) for name, output in outputs.items()}
    return golden(inputs, tensors, outputs, upstream, **extra)


def lstm_golden() -> dict:
    def compute(x, input, bias, recurrent):
        states, c, h = lstm(x, input, bias, recurrent)
        return {"states": states, "final_c": c, "final_h": h}

    shapes = {
        "x": (5, EMBEDDING),
        "input": (EMBEDDING, 4 * HIDDEN),
        "bias": (4 * HIDDEN,),
        "recurrent": (HIDDEN, 4 * HIDDEN),
    }
    return part_golden(shapes, compute, about="one direction; gates i, f, g, o; starts from zero")


ATTENTION_SHAPES = {"query_bias": (WIDTH,), "vector": (WIDTH,)}


def slot_attention_golden() -> dict:
    def compute(states, key, query, query_bias, vector):
        return {"contexts": attend(states, key, query, query_bias, vector, states)}

    shapes = {"states": (6, WIDTH), "key": (WIDTH, WIDTH), "query": (WIDTH, WIDTH), **ATTENTION_SHAPES}
    return part_golden(shapes, compute, about="every word asks about every word")


def intent_attention_golden() -> dict:
    def compute(states, final, key, query, query_bias, vector):
        return {"context": attend(states, key, query, query_bias, vector, final.unsqueeze(0))[0]}

    shapes = {
        "states": (6, WIDTH),
        "final": (FINAL,),
        "key": (WIDTH, WIDTH),
        "query": (FINAL, WIDTH),
        **ATTENTION_SHAPES,
    }
    return part_golden(shapes, compute, about="the final states ask about every word")


def gate_golden() -> dict:
    def compute(contexts, intent_input, weight, bias, vector):
        gates = gate(contexts, intent_input, weight, bias, vector)
        return {"gates": gates, "gated": gates.unsqueeze(1) * contexts}

    shapes = {
        "contexts": (5, WIDTH),
        "intent_input": (WIDTH + FINAL,),
        "weight": (WIDTH + FINAL, WIDTH),
        "bias": (WIDTH,),
        "vector": (WIDTH,),
    }
    return part_golden(shapes, compute, about="intent_input = [d ; final]; gated = g_i c_i; both have an upstream")


def linear_golden() -> dict:
    def compute(x, weight, bias):
        return {"y": x @ weight + bias}

    return part_golden({"x": (3, 7), "weight": (7, 5), "bias": (5,)}, compute, about="y = x W + b")


def cross_entropy_golden() -> dict:
    inputs = Inputs()
    logits = inputs.add("logits", (6, N_LABELS), scale=6.0)
    targets, weights = [0, 4, 2, 2, 1, 3], [0.5, 0.25, 0.25, 1.0, 0.0, 0.125]
    losses = F.cross_entropy(logits, torch.tensor(targets), reduction="none")
    loss = (losses * torch.tensor(weights, dtype=torch.float64)).sum()
    loss.backward()
    return {
        "about": "loss = sum over rows of weight * -ln softmax(logits)[target]",
        "inputs": inputs.description,
        "targets": targets,
        "weights": weights,
        "outputs": {"loss": number(loss), "row_losses": numbers(losses), "softmax": whole(logits.softmax(-1))},
        "gradients": gradients({"logits": logits}),
    }


def adam_golden() -> dict:
    """Gradients above and below the clip, and one of zeros, in which the parameters still move."""
    inputs = Inputs()
    parameters = inputs.add("parameters", (10,))
    optimizer = torch.optim.Adam([parameters], lr=LEARNING_RATE, betas=(0.9, 0.999), eps=1e-8)
    steps = []
    for step, scale in enumerate([4.0, 0.4, 12.0, 0.0, 3.0], start=1):
        parameters.grad = inputs.add(f"gradient_{step}", (10,), scale=scale, grad=False).clone()
        norm = torch.nn.utils.clip_grad_norm_([parameters], MAX_NORM)
        optimizer.step()
        steps.append({"gradient_norm": number(norm), "clipped": numbers(parameters.grad), "after": numbers(parameters)})
    return {
        "about": "a gradient of norm above max_norm is scaled by max_norm / (norm + 1e-6), then Adam",
        "inputs": inputs.description,
        "learning_rate": LEARNING_RATE,
        "betas": [0.9, 0.999],
        "eps": 1e-8,
        "max_norm": MAX_NORM,
        "steps": steps,
    }


def op_goldens() -> dict:
    return {
        "about": "one part at a time, f64; made by scripts/goldens/slot_gated_goldens.py",
        "torch": torch.__version__.partition("+")[0],
        "formula": FORMULA,
        "gradients_are": "of sum(upstream * output) over all outputs; numbers start from 0 in every part",
        "lstm": lstm_golden(),
        "slot_attention": slot_attention_golden(),
        "intent_attention": intent_attention_golden(),
        "gate": gate_golden(),
        "linear": linear_golden(),
        "cross_entropy": cross_entropy_golden(),
        "adam": adam_golden(),
    }


def to_json(value, indent: int = 0) -> str:
    """Indented objects, but a list of plain values on one line: a diff shows which tensor changed."""
    pad = "  " * (indent + 1)
    if isinstance(value, dict):
        entries = [f"{pad}{json.dumps(key)}: {to_json(entry, indent + 1)}" for key, entry in value.items()]
        return "{\n" + ",\n".join(entries) + "\n" + "  " * indent + "}"
    if isinstance(value, list) and any(isinstance(entry, dict) for entry in value):
        return "[\n" + ",\n".join(pad + to_json(entry, indent + 1) for entry in value) + "\n" + "  " * indent + "]"
    return json.dumps(value)


def main():
    torch.set_num_threads(1)
    check_lstm_against_torch()
    GOLDENS.mkdir(parents=True, exist_ok=True)
    for name, goldens in (("slot_gated.json", model_goldens()), ("ops.json", op_goldens())):
        text = to_json(goldens) + "\n"
        (GOLDENS / name).write_text(text)
        print(f"{name}: {len(text) // 1024} KB")


if __name__ == "__main__":
    main()
