"""The PyTorch peer of `meno train --encoder FOLDER`: the same network, written as PyTorch wants it.

    pieces -> embeddings -> layers of BERT -> boundary tags (CRF), slots of words, intent of [CLS; mean]

    transformer.py train DATA FOLDER [--steps N]    seconds a step of 32 utterances of one length: no padding, no masks
    transformer.py infer DATA FOLDER                one utterance at a time: eager, frozen, ONNX Runtime, in f32 and in int8

DATA holds `{train,test}/{seq.in,seq.out,label}`, FOLDER an encoder of the BERT family as Hugging Face has it. Every
measurement is one JSON object on stdout.

What is timed. Training: forward, loss, backward, clipping and update of a step, on pieces that are ids already; fused
AdamW, a sparse update of the piece embeddings, denormals flushed, the better of PyTorch's two attentions. Inference: from
the ids of the pieces to logits. int8 is `quantize_dynamic` of ONNX Runtime, weights in 8 bits for each column. Text to
pieces is outside, for PyTorch and for meno alike.
"""

import argparse
import io
import json
import math
import random
import statistics
import sys
import tempfile
import time
import warnings
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors.torch import load_file
from tokenizers import Tokenizer
from torch import nn
from torch.nn import functional as F

from slot_gated import read_lines

BATCH_SIZE = 32
MAX_PIECES = 8
RATES = {"encoder": 2e-4, "heads": 1e-3, "pieces": 1e-4}


# --- the corpus ----------------------------------------------------------------------------------------


@dataclass
class Utterance:
    pieces: list[int]
    firsts: list[int]
    tags: list[int]
    slots: list[int]
    intent: int


@dataclass
class Corpus:
    name: str
    train: list[Utterance]
    test: list[Utterance]
    n_slots: int
    n_intents: int


def read_corpus(folder: Path, encoder: Path) -> Corpus:
    tokenizer = Tokenizer.from_file(str(encoder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    begin, end, unknown = (tokenizer.token_to_id(name) for name in ("[CLS]", "[SEP]", "[UNK]"))
    slots, intents = {}, {}
    for _, labels, intent in read_lines(folder / "train"):
        for label in labels:
            if label != "O":
                slots.setdefault(label[2:], len(slots))
        intents.setdefault(intent, len(intents))

    def read(words, labels, intent) -> Utterance:
        pieces, firsts = [begin], []
        for word in words:
            firsts.append(len(pieces))
            pieces += (tokenizer.encode(word, add_special_tokens=False).ids or [unknown])[:MAX_PIECES]
        tags = ["OBI".index(label[0]) for label in labels]
        named = [-100 if label == "O" else slots.get(label[2:], 0) for label in labels]
        return Utterance(pieces + [end], firsts, tags, named, intents.get(intent, 0))

    train, test = ([read(*line) for line in read_lines(folder / part)] for part in ("train", "test"))
    return Corpus(folder.resolve().name, train, test, len(slots), len(intents))


# --- the model -----------------------------------------------------------------------------------------


class Layer(nn.Module):
    def __init__(self, config: dict, fused: bool):
        super().__init__()
        width, epsilon = config["hidden_size"], config.get("layer_norm_eps", 1e-12)
        self.heads, self.fused = config["num_attention_heads"], fused
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, config["intermediate_size"]), nn.Linear(config["intermediate_size"], width)
        self.norm1, self.norm2 = nn.LayerNorm(width, epsilon), nn.LayerNorm(width, epsilon)
        self.dropout = config.get("hidden_dropout_prob", 0.1)

    def forward(self, x):
        batch, n, width = x.shape
        q, k, v = self.qkv(x).view(batch, n, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        rate = self.dropout if self.training else 0.0
        if self.fused:
            attended = F.scaled_dot_product_attention(q, k, v, dropout_p=rate)
        else:
            weights = torch.softmax(q @ k.transpose(-1, -2) / math.sqrt(width // self.heads), -1)
            attended = F.dropout(weights, rate, self.training) @ v
        attended = attended.transpose(1, 2).reshape(batch, n, width)
        x = self.norm1(x + F.dropout(self.out(attended), rate, self.training))
        return self.norm2(x + F.dropout(self.down(F.gelu(self.up(x))), rate, self.training))


class Tagger(nn.Module):
    """`forward` gives logits of boundary tags and slots for each word, and of the intent."""

    def __init__(self, encoder: Path, corpus: Corpus, fused: bool):
        super().__init__()
        config = json.loads((encoder / "config.json").read_text())
        weights = {name.removeprefix("bert."): x.float() for name, x in load_file(encoder / "model.safetensors").items()}
        width = config["hidden_size"]
        self.pieces = nn.Embedding.from_pretrained(weights["embeddings.word_embeddings.weight"], freeze=False, sparse=True)
        self.positions = nn.Parameter(weights["embeddings.position_embeddings.weight"].clone())
        self.kind = nn.Parameter(weights["embeddings.token_type_embeddings.weight"][0].clone())
        self.norm = nn.LayerNorm(width, config.get("layer_norm_eps", 1e-12))
        copy(self.norm, weights, "embeddings.LayerNorm")
        self.layers = nn.ModuleList(Layer(config, fused) for _ in range(config["num_hidden_layers"]))
        for i, layer in enumerate(self.layers):
            place = f"encoder.layer.{i}."
            for part in ("weight", "bias"):
                joined = [weights[f"{place}attention.self.{name}.{part}"] for name in ("query", "key", "value")]
                getattr(layer.qkv, part).data = torch.cat(joined)
            copy(layer.out, weights, f"{place}attention.output.dense")
            copy(layer.norm1, weights, f"{place}attention.output.LayerNorm")
            copy(layer.up, weights, f"{place}intermediate.dense")
            copy(layer.down, weights, f"{place}output.dense")
            copy(layer.norm2, weights, f"{place}output.LayerNorm")
        self.boundary, self.slot = nn.Linear(width, 3), nn.Linear(width, corpus.n_slots)
        self.intent, self.transitions = nn.Linear(2 * width, corpus.n_intents), nn.Parameter(torch.zeros(3, 3))

    def forward(self, pieces, firsts):
        x = self.norm(self.pieces(pieces) + self.positions[: pieces.shape[1]] + self.kind)
        x = F.dropout(x, 0.1, self.training)
        for layer in self.layers:
            x = layer(x)
        words = x.reshape(-1, x.shape[-1])[firsts]
        utterances = torch.cat([x[:, 0], x[:, 1:-1].mean(1)], -1)
        return self.boundary(words), self.slot(words), self.intent(utterances)


def copy(module, weights, name):
    module.weight.data, module.bias.data = weights[f"{name}.weight"].clone(), weights[f"{name}.bias"].clone()


# --- training ------------------------------------------------------------------------------------------


def batches(utterances: list[Utterance]) -> list[list[Utterance]]:
    """Of one length each, in pieces and in words, in random order: the best form that PyTorch can be given."""
    chance, by_length = random.Random(1), {}
    for utterance in utterances:
        by_length.setdefault((len(utterance.pieces), len(utterance.firsts)), []).append(utterance)
    found = [alike[i : i + BATCH_SIZE] for alike in by_length.values() for i in range(0, len(alike), BATCH_SIZE)]
    chance.shuffle(found)
    return [batch for batch in found if len(batch) == BATCH_SIZE]


def tensors(batch: list[Utterance]):
    n = len(batch[0].pieces)
    pieces = torch.tensor([utterance.pieces for utterance in batch])
    firsts = torch.tensor([[i * n + first for first in u.firsts] for i, u in enumerate(batch)])
    tags = torch.tensor([utterance.tags for utterance in batch])
    slots = torch.tensor([utterance.slots for utterance in batch])
    return pieces, firsts, tags, slots, torch.tensor([utterance.intent for utterance in batch])


def crf_loss(logits, transitions, tags):
    """Minus the log likelihood of the boundary tags; outside and the beginning do not lead inside."""
    forbidden = torch.zeros(3, 3)
    forbidden[0, 2] = -1e4
    transitions = transitions + forbidden
    alpha = logits[:, 0] + torch.tensor([0, 0, -1e4])
    score = logits[:, 0].gather(1, tags[:, :1]).squeeze(1)
    for t in range(1, logits.shape[1]):
        alpha = torch.logsumexp(alpha[:, :, None] + transitions, 1) + logits[:, t]
        score = score + logits[:, t].gather(1, tags[:, t : t + 1]).squeeze(1) + transitions[tags[:, t - 1], tags[:, t]]
    return torch.logsumexp(alpha, 1) - score


def train(corpus: Corpus, encoder: Path, steps: int):
    torch.set_flush_denormal(True)
    for fused in (False, True):
        torch.manual_seed(1)
        tagger = Tagger(encoder, corpus, fused).train()
        heads = [p for name, p in tagger.named_parameters() if name.split(".")[0] in ("boundary", "slot", "intent", "transitions")]
        known = {id(p) for p in heads} | {id(tagger.pieces.weight)}
        rest = [p for p in tagger.parameters() if id(p) not in known]
        groups = [
            {"params": [p for p in rest if p.dim() > 1], "lr": RATES["encoder"], "weight_decay": 0.01},
            {"params": [p for p in rest if p.dim() == 1], "lr": RATES["encoder"], "weight_decay": 0.0},
            {"params": heads, "lr": RATES["heads"], "weight_decay": 0.0},
        ]
        optimizers = [
            torch.optim.AdamW(groups, betas=(0.9, 0.98), fused=True),
            torch.optim.SparseAdam([tagger.pieces.weight], lr=RATES["pieces"]),
        ]
        dense = rest + heads
        prepared = [tensors(batch) for batch in batches(corpus.train)[: steps + 5]]
        seconds, cpu, n_pieces = 0.0, 0.0, 0
        for i, (pieces, firsts, tags, slots, intents) in enumerate(prepared):
            start, cpu_start = time.perf_counter(), time.process_time()
            boundary, slot, intent = tagger(pieces, firsts)
            loss = crf_loss(boundary, tagger.transitions, tags).mean() + F.cross_entropy(intent, intents)
            named = F.cross_entropy(slot.flatten(0, 1), slots.flatten(), ignore_index=-100, reduction="sum")
            (loss + named / len(pieces)).backward()
            nn.utils.clip_grad_norm_(dense, 5.0)
            for optimizer in optimizers:
                optimizer.step()
                optimizer.zero_grad(set_to_none=True)
            if i >= 5:
                seconds += time.perf_counter() - start
                cpu += time.process_time() - cpu_start
                n_pieces += pieces.numel()
        line = {"what": "train", "peer": f"pytorch, {'fused' if fused else 'plain'} attention", "data": corpus.name}
        emit(line | {"us_per_piece": seconds / n_pieces * 1e6, "cpu_us_per_piece": cpu / n_pieces * 1e6})


# --- inference -----------------------------------------------------------------------------------------


def infer(corpus: Corpus, encoder: Path):
    tagger = Tagger(encoder, corpus, True).eval()
    inputs = [(torch.tensor([u.pieces]), torch.tensor([u.firsts])) for u in corpus.test]
    with torch.inference_mode():
        timed(corpus, "pytorch eager", inputs, lambda input: tagger(*input))
    plain = Tagger(encoder, corpus, False).eval()
    plain.load_state_dict(tagger.state_dict())
    plain.pieces = nn.Embedding.from_pretrained(plain.pieces.weight.data)
    with torch.inference_mode(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        frozen = torch.jit.freeze(torch.jit.trace(tagger, inputs[0]))
        timed(corpus, "pytorch frozen", inputs, lambda input: frozen(*input))
    onnx_infer(corpus, plain, inputs)


def onnx_infer(corpus: Corpus, tagger: Tagger, inputs):
    import onnxruntime
    from onnxruntime.quantization import QuantType, quantize_dynamic

    graph = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            tagger, inputs[0], graph, input_names=["pieces", "firsts"], output_names=["boundary", "slot", "intent"],
            dynamic_axes={"pieces": {1: "n"}, "firsts": {1: "words"}}, opset_version=17, dynamo=False,
        )
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    arrays = [{"pieces": pieces.numpy(), "firsts": firsts.numpy()} for pieces, firsts in inputs]

    def run(peer, source):
        session = onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])
        timed(corpus, peer, arrays, lambda array: session.run(None, array))

    run("onnxruntime", graph.getvalue())
    with tempfile.TemporaryDirectory() as scratch:
        plain, small = Path(scratch) / "f32.onnx", Path(scratch) / "int8.onnx"
        plain.write_bytes(graph.getvalue())
        quantize_dynamic(plain, small, weight_type=QuantType.QInt8, per_channel=True)
        run("onnxruntime int8", str(small))


def timed(corpus: Corpus, peer: str, inputs, run, passes: int = 2):
    for input in inputs[:50]:
        run(input)
    times = []
    for _ in range(passes):
        for input in inputs:
            start = time.perf_counter()
            run(input)
            times.append((time.perf_counter() - start) * 1e6)
    times.sort()
    figures = {"p50_us": statistics.median(times), "p99_us": times[len(times) * 99 // 100]}
    emit({"what": "infer", "peer": peer, "data": corpus.name} | figures)


def emit(line: dict):
    print(json.dumps(line), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["train", "infer"])
    parser.add_argument("data", type=Path)
    parser.add_argument("encoder", type=Path)
    parser.add_argument("--steps", type=int, default=60)
    args = parser.parse_args()
    torch.set_num_threads(1)
    corpus = read_corpus(args.data, args.encoder)
    if args.what == "train":
        train(corpus, args.encoder, args.steps)
    else:
        infer(corpus, args.encoder)


if __name__ == "__main__":
    sys.exit(main())
