"""How fast PyTorch trains a tagger on an encoder of the BERT family, and how fast ONNX Runtime runs it, on one core.

    python scripts/peers/transformer.py DATA FOLDER [--steps N] [--batch N]

DATA is a folder with train/seq.in and test/seq.in, FOLDER an encoder as Hugging Face has it. Prints JSON lines, to be set beside
those of `cargo bench -p meno --bench transformer`. Needs torch, numpy, safetensors, tokenizers, onnx, onnxscript and onnxruntime.

The fastest form of PyTorch that was found: batches of utterances with the same number of pieces, so that nothing is padded, fused
projections of queries, keys and values, its own attention, a fused AdamW, sparse embeddings, denormals flushed. The boundary CRF is left
out: it is a plain softmax here, which favours PyTorch.
"""

import argparse
import itertools
import json
import random
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file
from tokenizers import Tokenizer
from torch import nn
from torch.nn import functional as F

torch.set_num_threads(1)
torch.set_flush_denormal(True)
torch.manual_seed(1)
N_LABELS, N_SLOTS, N_INTENTS = 3, 39, 7


class Layer(nn.Module):
    def __init__(self, config):
        super().__init__()
        hidden, self.heads = config["hidden_size"], config["num_attention_heads"]
        self.qkv, self.output = nn.Linear(hidden, 3 * hidden), nn.Linear(hidden, hidden)
        self.up = nn.Linear(hidden, config["intermediate_size"])
        self.down = nn.Linear(config["intermediate_size"], hidden)
        self.norm1, self.norm2 = nn.LayerNorm(hidden, 1e-12), nn.LayerNorm(hidden, 1e-12)

    def forward(self, x):
        n, length, hidden = x.shape
        q, k, v = self.qkv(x).view(n, length, 3, self.heads, hidden // self.heads).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, dropout_p=0.1 if self.training else 0.0)
        y = y.transpose(1, 2).reshape(n, length, hidden)
        x = self.norm1(x + F.dropout(self.output(y), 0.1, self.training))
        return self.norm2(x + F.dropout(self.down(F.gelu(self.up(x))), 0.1, self.training))


class Tagger(nn.Module):
    def __init__(self, config, weights):
        super().__init__()
        hidden = config["hidden_size"]
        pieces = weights["embeddings.word_embeddings.weight"].float()
        self.pieces = nn.Embedding.from_pretrained(pieces, freeze=False, sparse=True)
        self.positions = nn.Parameter(weights["embeddings.position_embeddings.weight"].float().clone())
        self.kind = nn.Parameter(weights["embeddings.token_type_embeddings.weight"][0].float().clone())
        self.norm = nn.LayerNorm(hidden, 1e-12)
        self.layers = nn.ModuleList(Layer(config) for _ in range(config["num_hidden_layers"]))
        self.boundary, self.slot = nn.Linear(hidden, N_LABELS), nn.Linear(hidden, N_SLOTS)
        self.intent = nn.Linear(2 * hidden, N_INTENTS)

    def forward(self, ids):
        x = self.pieces(ids) + self.positions[: ids.shape[1]] + self.kind
        x = F.dropout(self.norm(x), 0.1, self.training)
        for layer in self.layers:
            x = layer(x)
        whole = torch.cat([x[:, 0], x[:, 1:-1].mean(1)], -1)
        return self.boundary(x), self.slot(x), self.intent(whole)


def read(path, tokenizer):
    cls, sep = tokenizer.token_to_id("[CLS]"), tokenizer.token_to_id("[SEP]")
    lines = (line.split() for line in path.read_text().splitlines())
    words = {}
    for line in lines:
        for word in line:
            if word not in words:
                words[word] = tokenizer.encode(word, add_special_tokens=False).ids[:8]
        if line:
            yield [cls, *itertools.chain(*(words[word] for word in line)), sep]


def train(tagger, utterances, n_steps, batch):
    by_length = {}
    for ids in utterances:
        by_length.setdefault(len(ids), []).append(ids)
    batches = [same[i : i + batch] for same in by_length.values() for i in range(0, len(same), batch)]
    random.Random(1).shuffle(batches)
    batches = [b for b in batches if len(b) == batch][: n_steps + 3]
    dense = [p for name, p in tagger.named_parameters() if name != "pieces.weight"]
    optimizers = [
        torch.optim.AdamW(dense, lr=1e-5, betas=(0.9, 0.98), weight_decay=0.01, fused=True),
        torch.optim.SparseAdam([tagger.pieces.weight], lr=1e-5),
    ]
    tagger.train()
    n_pieces = 0
    for step, rows in enumerate(batches):
        if step == 3:
            start = time.perf_counter()
        n_pieces += len(rows) * len(rows[0]) if step >= 3 else 0
        boundary, slot, intent = tagger(torch.tensor(rows))
        n = boundary.shape[0] * boundary.shape[1]
        loss = F.cross_entropy(boundary.view(n, -1), torch.zeros(n, dtype=torch.long))
        loss = loss + F.cross_entropy(slot.view(n, -1), torch.ones(n, dtype=torch.long))
        loss = loss + F.cross_entropy(intent, torch.zeros(len(rows), dtype=torch.long))
        loss.backward()
        nn.utils.clip_grad_norm_(dense, 5.0)
        for optimizer in optimizers:
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
    seconds = time.perf_counter() - start
    return dict(what="train", peer="pytorch", threads=1, microseconds_per_piece=1e6 * seconds / n_pieces)


def infer(tagger, utterances):
    import onnxruntime

    tagger.eval()
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "tagger.onnx")
        torch.onnx.export(tagger, (torch.tensor([utterances[0]]),), path, input_names=["ids"],
                          dynamic_axes={"ids": {1: "length"}}, opset_version=18, dynamo=False)  # fmt: skip
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        times = []
        for ids in utterances[:50] + utterances:
            start = time.perf_counter()
            session.run(None, {"ids": np.array([ids])})
            times.append(1e3 * (time.perf_counter() - start))
    times = sorted(times[50:])
    return dict(what="infer", peer="onnxruntime f32", p50_ms=times[len(times) // 2], p99_ms=times[len(times) * 99 // 100])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--what", choices=["train", "infer", "all"], default="all")
    args = parser.parse_args()
    tokenizer = Tokenizer.from_file(str(args.folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    config = json.loads((args.folder / "config.json").read_text())
    weights = {name.removeprefix("bert."): w for name, w in load_file(args.folder / "model.safetensors").items()}
    tagger = Tagger(config, weights)
    if args.what in ("train", "all"):
        utterances = list(read(args.data / "train/seq.in", tokenizer))
        print(json.dumps(train(tagger, utterances, args.steps, args.batch)), flush=True)
    if args.what in ("infer", "all"):
        utterances = list(read(args.data / "test/seq.in", tokenizer))[:300]
        print(json.dumps(infer(tagger, utterances)), flush=True)


if __name__ == "__main__":
    sys.exit(main())
