"""A Python server around a tagger of the size of meno's default one, to compare with: aiohttp and PyTorch.

    peer.py --port PORT --train DIR [--processes N]

What it does for a request is less than what meno does: it cuts the text at white space, runs the network (word
embeddings, characters, word vectors, two bidirectional LSTM layers, one softmax for slots and one for intents), and answers
with the label and probability of each word and the intent. There is no decoding, no threshold, no memory, and no reason
given. The network is traced and frozen, with one thread in each process. Weights are random: they do not change the time.
"""

import argparse
import json
import multiprocessing
import warnings

import torch
from aiohttp import web
from torch import nn

EMBEDDING, CHARACTER, FILTERS, VECTOR, HIDDEN, LAYERS, LONGEST = 64, 32, 64, 128, 96, 2, 24


class Tagger(nn.Module):
    def __init__(self, n_words, n_characters, n_labels, n_intents):
        super().__init__()
        self.words = nn.Embedding(n_words, EMBEDDING)
        self.vectors = nn.Embedding(n_words, VECTOR)
        self.characters = nn.Embedding(n_characters, CHARACTER)
        self.filters = nn.Conv1d(CHARACTER, FILTERS, 3, padding=1)
        self.lstm = nn.LSTM(EMBEDDING + VECTOR + FILTERS, HIDDEN, LAYERS, bidirectional=True)
        self.slots = nn.Linear(2 * HIDDEN, n_labels)
        self.intents = nn.Linear(2 * HIDDEN, n_intents)

    def forward(self, words, characters):
        letters = torch.relu(self.filters(self.characters(characters).transpose(1, 2))).amax(2)
        states, _ = self.lstm(torch.cat([self.words(words), self.vectors(words), letters], 1).unsqueeze(1))
        states = states.squeeze(1)
        return self.slots(states).softmax(1), self.intents(states.mean(0)).softmax(0)


class Reader:
    """Words and labels to ids."""

    def __init__(self, folder):
        lines = lambda name: open(f"{folder}/{name}", encoding="utf-8").read().splitlines()
        self.words = {word: i for i, word in enumerate(sorted({w for line in lines("seq.in") for w in line.split()}), 1)}
        self.labels = sorted({label for line in lines("seq.out") for label in line.split()})
        self.intents = sorted(set(lines("label")))

    def read(self, words):
        ids = [self.words.get(word.lower(), 0) for word in words]
        characters = [[min(ord(c), 127) for c in word[:LONGEST].ljust(LONGEST, "\0")] for word in words]
        return torch.tensor(ids), torch.tensor(characters)


def serve(port, folder):
    # Tracing is on its way out of PyTorch, but nothing is faster for one utterance at a time.
    warnings.filterwarnings("ignore", category=FutureWarning)
    torch.set_num_threads(1)
    torch.manual_seed(1)
    reader = Reader(folder)
    tagger = Tagger(len(reader.words) + 1, 128, len(reader.labels), len(reader.intents)).eval()
    tagger = torch.jit.freeze(torch.jit.trace(tagger, reader.read("play some music now".split())))

    async def annotate(request):
        text = (await request.json())["text"]
        words = text.split() or [""]
        with torch.inference_mode():
            slots, intents = tagger(*reader.read(words))
        probabilities, best = slots.max(1)
        tokens = [
            {"text": word, "label": reader.labels[label], "probability": probability}
            for word, label, probability in zip(words, best.tolist(), probabilities.tolist())
        ]
        probability, intent = intents.max(0)
        intent = {"name": reader.intents[intent.item()], "probability": probability.item()}
        return web.json_response({"text": text, "intent": intent, "tokens": tokens}, dumps=json.dumps)

    app = web.Application()
    app.add_routes([web.post("/v1/annotate", annotate)])
    web.run_app(app, host="127.0.0.1", port=port, reuse_port=True, print=None, access_log=None)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--train", required=True, help="a folder with seq.in, seq.out and label")
    parser.add_argument("--processes", type=int, default=multiprocessing.cpu_count())
    args = parser.parse_args()
    others = [multiprocessing.Process(target=serve, args=(args.port, args.train), daemon=True) for _ in range(1, args.processes)]
    for other in others:
        other.start()
    serve(args.port, args.train)
