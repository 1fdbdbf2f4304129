"""The PyTorch peer: the slot-gated joint model that `meno` trains, written as PyTorch wants it.

    embedding V x 64 -> BiLSTM, 64 a direction -> slot attention, intent attention -> slot gate -> heads

after Goo et al. 2018, "Slot-Gated Modeling for Joint Slot Filling and Intent Prediction" (full attention).
The loss is the cross entropy averaged over an utterance's words, plus the intent's cross entropy, both
averaged over the batch. Adam 1e-3, global clip 5, batch 16, dropout 0.5 on the LSTM's inputs and outputs.

    slot_gated.py train DATA --mode packed         random batches, padded, packed sequences and masks
    slot_gated.py train DATA --mode equal-length   batches of one length: no padding, no masks
    slot_gated.py infer DATA                       one utterance at a time: eager, frozen, ONNX Runtime

DATA holds `{train,valid,test}/{seq.in,seq.out,label}`. Every measurement is one JSON object on stdout.

What is timed. Training: everything from the shuffle to the last optimiser step of an epoch; the words have
become ids before. The figure is the best epoch after the first, which warms up. Inference: from the ids of
an utterance, already in the runtime's own array, to the ids of its labels and of its intent. Text to words
and words to ids is outside, for PyTorch and for meno alike. Weights are random: they do not change the time.

Left out: `torch.compile` of all that follows the LSTM, which was no faster in a trial of each way of batching
and spends up to a minute compiling first.
"""

import argparse
import io
import json
import random
import sys
import time
import warnings
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

PAD, UNK = 0, 1


# --- the corpus ----------------------------------------------------------------------------------------


@dataclass
class Utterance:
    words: list[int]
    labels: list[int]
    label_names: list[str]
    intent: int


@dataclass
class Corpus:
    name: str
    train: list[Utterance]
    valid: list[Utterance]
    test: list[Utterance]
    label_names: list[str]
    n_words: int
    n_intents: int


def read_lines(folder: Path):
    """Yields (words, labels, intent) as strings; of an intent `a#b` the first."""
    names = ("seq.in", "seq.out", "label")
    columns = [(folder / name).read_text(encoding="utf-8").splitlines() for name in names]
    for line_number, (words, labels, intent) in enumerate(zip(*columns, strict=True), start=1):
        words = ["0" if word.isdigit() else word for word in words.split()]
        labels = labels.split()
        if len(words) != len(labels):
            raise SystemExit(f"{folder}:{line_number}: {len(words)} words, {len(labels)} labels")
        if words:
            yield words, labels, intent.split()[0].split("#")[0]


def read_corpus(folder: Path) -> Corpus:
    """Ids come from the training part; a word it lacks is UNK, a label or intent it lacks is 0 (never trained)."""
    word_ids, label_ids, intent_ids = {"<pad>": PAD, "<unk>": UNK}, {}, {}
    for words, labels, intent in read_lines(folder / "train"):
        for word in words:
            word_ids.setdefault(word, len(word_ids))
        for label in labels:
            label_ids.setdefault(label, len(label_ids))
        intent_ids.setdefault(intent, len(intent_ids))

    def read_part(part: str) -> list[Utterance]:
        return [
            Utterance(
                words=[word_ids.get(word, UNK) for word in words],
                labels=[label_ids.get(label, 0) for label in labels],
                label_names=labels,
                intent=intent_ids.get(intent, 0),
            )
            for words, labels, intent in read_lines(folder / part)
        ]

    return Corpus(
        name=folder.resolve().name,
        train=read_part("train"),
        valid=read_part("valid"),
        test=read_part("test"),
        label_names=list(label_ids),
        n_words=len(word_ids),
        n_intents=len(intent_ids),
    )


# --- the model -----------------------------------------------------------------------------------------


class SlotGated(nn.Module):
    """`forward` gives slot logits [batch, words, labels] and intent logits [batch, intents]."""

    def __init__(self, n_words: int, n_labels: int, n_intents: int, embedding: int = 64, hidden: int = 64):
        super().__init__()
        width, final = 2 * hidden, 4 * hidden
        self.embedding = nn.Embedding(n_words, embedding, padding_idx=PAD)
        self.lstm = nn.LSTM(embedding, hidden, bidirectional=True, batch_first=True)
        # PyTorch keeps two biases that are only ever added; one of them stays at zero.
        for name, parameter in self.lstm.named_parameters():
            if name.startswith("bias_hh"):
                nn.init.zeros_(parameter)
                parameter.requires_grad = False
        self.dropout = nn.Dropout(0.5)
        self.slot_key = nn.Linear(width, width, bias=False)
        self.slot_query = nn.Linear(width, width)
        self.slot_vector = nn.Parameter(torch.randn(width) * 0.1)
        self.intent_key = nn.Linear(width, width, bias=False)
        self.intent_query = nn.Linear(final, width)
        self.intent_vector = nn.Parameter(torch.randn(width) * 0.1)
        self.gate = nn.Linear(width + final, width)
        self.gate_vector = nn.Parameter(torch.randn(width) * 0.1)
        self.slot_head = nn.Linear(2 * width, n_labels)
        self.intent_head = nn.Linear(width + final, n_intents)

    def forward(self, words, lengths=None, mask=None):
        """`words` [batch, words]. With padding: `lengths`, longest first, and `mask`, true at words."""
        embedded = self.dropout(self.embedding(words))
        if lengths is None:
            states, (h, c) = self.lstm(embedded)
        else:
            packed, (h, c) = self.lstm(pack_padded_sequence(embedded, lengths, batch_first=True))
            states, _ = pad_packed_sequence(packed, batch_first=True)
        final = torch.cat([c[0], h[0], c[1], h[1]], dim=1)
        return self.heads(self.dropout(states), final, mask)

    def heads(self, states, final, mask):
        """Everything after the LSTM: its states [batch, words, 128], its final states [batch, 256]."""
        keys, queries = self.slot_key(states).unsqueeze(1), self.slot_query(states).unsqueeze(2)
        scores = torch.tanh(keys + queries) @ self.slot_vector  # [batch, i, j]
        if mask is not None:
            scores = scores.masked_fill(~mask.unsqueeze(1), -1e9)
        contexts = torch.bmm(scores.softmax(-1), states)

        scores = torch.tanh(self.intent_key(states) + self.intent_query(final).unsqueeze(1)) @ self.intent_vector
        if mask is not None:
            scores = scores.masked_fill(~mask, -1e9)
        intent_context = torch.bmm(scores.softmax(-1).unsqueeze(1), states).squeeze(1)

        intent_input = torch.cat([intent_context, final], dim=1)
        gates = torch.tanh(contexts + self.gate(intent_input).unsqueeze(1)) @ self.gate_vector
        slot_input = torch.cat([contexts * gates.unsqueeze(-1), states], dim=-1)
        return self.slot_head(slot_input), self.intent_head(intent_input)


class Tagger(nn.Module):
    """The model as it is deployed: ids of words in, ids of labels and of the intent out."""

    def __init__(self, model: SlotGated):
        super().__init__()
        self.model = model

    def forward(self, words):
        slot_logits, intent_logits = self.model(words)
        return slot_logits.argmax(-1), intent_logits.argmax(-1)


# --- training ------------------------------------------------------------------------------------------


class Part:
    """Utterances as padded tensors, so that making a batch costs a handful of tensor operations."""

    def __init__(self, utterances: list[Utterance]):
        self.lengths = [len(utterance.words) for utterance in utterances]
        self.length_tensor = torch.tensor(self.lengths)
        longest = max(self.lengths)
        self.words = torch.tensor([u.words + [PAD] * (longest - len(u.words)) for u in utterances])
        self.labels = torch.tensor([u.labels + [0] * (longest - len(u.labels)) for u in utterances])
        self.intents = torch.tensor([u.intent for u in utterances])

    def __len__(self) -> int:
        return len(self.lengths)


def packed_batches(part: Part, batch_size: int, rng: random.Random) -> list[list[int]]:
    """Random batches, each sorted by decreasing length."""
    order = list(range(len(part)))
    rng.shuffle(order)
    batches = [order[start : start + batch_size] for start in range(0, len(order), batch_size)]
    for batch in batches:
        batch.sort(key=lambda i: -part.lengths[i])
    return batches


def equal_length_batches(part: Part, batch_size: int, rng: random.Random) -> list[list[int]]:
    """Batches of utterances of one length, in random order."""
    by_length = {}
    for i, length in enumerate(part.lengths):
        by_length.setdefault(length, []).append(i)
    batches = []
    for same_length in by_length.values():
        rng.shuffle(same_length)
        batches += [same_length[start : start + batch_size] for start in range(0, len(same_length), batch_size)]
    rng.shuffle(batches)
    return batches


def packed_loss(model: SlotGated, part: Part, batch: list[int]):
    index = torch.tensor(batch)
    longest = part.lengths[batch[0]]
    words, lengths = part.words[index, :longest], part.length_tensor[index]
    mask = words.ne(PAD)
    slot_logits, intent_logits = model(words, lengths, mask)
    labels = part.labels[index, :longest]
    word_loss = F.cross_entropy(slot_logits.flatten(0, 1), labels.flatten(), reduction="none").view_as(mask)
    weights = mask / (lengths.unsqueeze(1) * len(batch))
    return (word_loss * weights).sum() + F.cross_entropy(intent_logits, part.intents[index])


def equal_length_loss(model: SlotGated, part: Part, batch: list[int]):
    index = torch.tensor(batch)
    length = part.lengths[batch[0]]
    slot_logits, intent_logits = model(part.words[index, :length])
    slot_loss = F.cross_entropy(slot_logits.flatten(0, 1), part.labels[index, :length].flatten())
    return slot_loss + F.cross_entropy(intent_logits, part.intents[index])


MODES = {
    "packed": (packed_batches, packed_loss),
    "equal-length": (equal_length_batches, equal_length_loss),
}


def train(corpus: Corpus, mode: str, epochs: int, batch_size: int, seed: int) -> dict:
    make_batches, loss_of = MODES[mode]
    rng = random.Random(seed)
    model = SlotGated(corpus.n_words, len(corpus.label_names), corpus.n_intents)
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = torch.optim.Adam(parameters, lr=1e-3, fused=True)
    part = Part(corpus.train)

    seconds, cpu_seconds = [], []
    for epoch in range(epochs):
        start, cpu_start = time.perf_counter(), time.process_time()
        total = torch.zeros(())
        batches = make_batches(part, batch_size, rng)
        for batch in batches:
            loss = loss_of(model, part, batch)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            nn.utils.clip_grad_norm_(parameters, 5.0, foreach=True)
            optimizer.step()
            total += loss.detach()
        seconds.append(time.perf_counter() - start)
        cpu_seconds.append(time.process_time() - cpu_start)
        print(f"{mode} epoch {epoch + 1}: {seconds[-1]:.2f} s, loss {total / len(batches):.4f}", file=sys.stderr)

    return {
        "what": "train",
        "peer": f"pytorch {mode}",
        "data": corpus.name,
        "threads": torch.get_num_threads(),
        "batch_size": batch_size,
        "seconds_per_epoch": min(seconds[1:] or seconds),
        "cpu_seconds_per_epoch": min(cpu_seconds[1:] or cpu_seconds),
        "epochs": epochs,
        "valid_slot_f1": slot_f1(model, corpus),
    }


def slot_f1(model: SlotGated, corpus: Corpus) -> float:
    """Exact-match span F1 on the validation part, as conlleval counts it."""
    tagger = Tagger(model).eval()
    n_correct = n_predicted = n_gold = 0
    with torch.inference_mode():
        for utterance in corpus.valid:
            labels, _ = tagger(torch.tensor([utterance.words]))
            predicted = spans([corpus.label_names[label] for label in labels[0].tolist()])
            gold = spans(utterance.label_names)
            n_correct += len(predicted & gold)
            n_predicted += len(predicted)
            n_gold += len(gold)
    model.train()
    return 2 * n_correct / max(1, n_predicted + n_gold)


def spans(labels: list[str]) -> set[tuple[int, int, str]]:
    """(start, end, slot) of an IOB sequence; an `I-` that continues nothing opens a span."""
    found, start, slot = set(), None, None
    for i, label in enumerate([*labels, "O"]):
        tag, _, name = label.partition("-")
        if slot is not None and not (tag == "I" and name == slot):
            found.add((start, i, slot))
            slot = None
        if slot is None and tag in ("B", "I"):
            start, slot = i, name
    return found


# --- inference -----------------------------------------------------------------------------------------


def eager_form(tagger: Tagger, example):
    return tagger, lambda words: words


def frozen_form(tagger: Tagger, example):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        traced = torch.jit.trace(tagger, example, check_trace=False)
        return torch.jit.freeze(traced), lambda words: words


def optimized_form(tagger: Tagger, example):
    frozen, prepare = frozen_form(tagger, example)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.jit.optimize_for_inference(frozen), prepare


def onnx_form(tagger: Tagger, example):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.add_session_config_entry("session.set_denormal_as_zero", "1")
    session = onnxruntime.InferenceSession(export_onnx(tagger, example), options, ["CPUExecutionProvider"])
    return (lambda words: session.run(None, {"words": words})), (lambda words: words.numpy())


def export_onnx(tagger: Tagger, example) -> bytes:
    """The model with one utterance a call and a free number of words."""
    buffer = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            tagger,
            (example,),
            buffer,
            input_names=["words"],
            output_names=["labels", "intent"],
            dynamic_axes={"words": {1: "length"}, "labels": {1: "length"}},
            dynamo=False,
        )
    return buffer.getvalue()


FORMS = {
    "pytorch eager": eager_form,
    "pytorch frozen": frozen_form,
    "pytorch frozen, optimized for inference": optimized_form,
    "onnxruntime": onnx_form,
}


def infer(corpus: Corpus, passes: int):
    """Yields one measurement a form. All forms are built first and take turns, so that noise hits them alike."""
    model = SlotGated(corpus.n_words, len(corpus.label_names), corpus.n_intents)
    tagger = Tagger(model).eval()
    inputs = [torch.tensor([utterance.words]) for utterance in corpus.test]
    with torch.inference_mode():
        expected = [tagger(words)[0].tolist() for words in inputs]
        forms = {}
        for name, build in FORMS.items():
            run, prepare = build(tagger, inputs[0])
            prepared = [prepare(words) for words in inputs]
            # The comparison is also the warm-up.
            check_agreement(name, expected, [run(words)[0].tolist() for words in prepared])
            forms[name] = (run, prepared, [])
        for _ in range(passes):
            for run, prepared, nanoseconds in forms.values():
                for words in prepared:
                    start = time.perf_counter_ns()
                    run(words)
                    nanoseconds.append(time.perf_counter_ns() - start)

    for name, (_, _, nanoseconds) in forms.items():
        nanoseconds.sort()
        yield {
            "what": "infer",
            "peer": name,
            "data": corpus.name,
            "threads": torch.get_num_threads(),
            "p50_us": nanoseconds[len(nanoseconds) // 2] / 1e3,
            "p99_us": nanoseconds[len(nanoseconds) * 99 // 100] / 1e3,
        }


def check_agreement(name: str, expected: list, found: list):
    """A form that computes something else is not a peer. Rounding may turn a rare near-tie."""
    pairs = [pair for a, b in zip(expected, found, strict=True) for pair in zip(a[0], b[0], strict=True)]
    n_different = sum(a != b for a, b in pairs)
    if n_different > len(pairs) / 1000:
        raise SystemExit(f"{name}: {n_different} of {len(pairs)} labels differ from eager PyTorch")


# --- the command ---------------------------------------------------------------------------------------


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    train_parser = commands.add_parser("train", help="seconds an epoch")
    train_parser.add_argument("--mode", choices=MODES, required=True)
    train_parser.add_argument("--epochs", type=int, default=3)
    train_parser.add_argument("--batch-size", type=int, default=16)
    infer_parser = commands.add_parser("infer", help="microseconds an utterance")
    infer_parser.add_argument("--passes", type=int, default=3, help="over the test part")
    for command in (train_parser, infer_parser):
        command.add_argument("data", type=Path)
        command.add_argument("--threads", type=int, default=1)
        command.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()

    torch.set_num_threads(args.threads)
    torch.set_num_interop_threads(1)
    torch.set_flush_denormal(True)
    torch.manual_seed(args.seed)
    corpus = read_corpus(args.data)
    if args.command == "train":
        measurements = [train(corpus, args.mode, args.epochs, args.batch_size, args.seed)]
    else:
        measurements = infer(corpus, args.passes)
    for measurement in measurements:
        print(json.dumps(measurement), flush=True)


if __name__ == "__main__":
    main()
