"""Python servers around a tagger of the size of meno's default one, to compare with: aiohttp, and PyTorch or ONNX Runtime.

    peer.py --port PORT --train DIR [--processes N]    PyTorch: each request by itself, in so many processes
    peer.py --port PORT --train DIR --batched          ONNX Runtime: the requests that wait are one batch, as in servers of embeddings
    peer.py --alone FILE --train DIR                   no server: how many lines of a file a second ONNX Runtime reads, in batches

What it does for a request is less than what meno does: it cuts the text at white space, runs the network (word
embeddings, characters, word vectors, two bidirectional LSTM layers, one softmax for slots and one for intents), and answers
with the label and probability of each word and the intent. There is no decoding, no threshold, no memory, and no reason
given. Weights are random: they do not change the time. For PyTorch the network is traced and frozen, with one thread in each
process. For ONNX Runtime it is one graph with a thread for each core; utterances of a batch are padded to the longest, after
they were sorted by length where all of them are there.
"""

import argparse
import asyncio
import io
import json
import multiprocessing
import os
import time
import warnings

import torch
from torch import nn

EMBEDDING, CHARACTER, FILTERS, VECTOR, HIDDEN, LAYERS, LONGEST = 64, 32, 64, 128, 96, 2, 24
# Utterances that ONNX Runtime gets at once, at most.
BATCH = 32


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
        """Words by utterances, and the characters of each word."""
        n_words, n_utterances = words.shape
        spelt = self.characters(characters.flatten(0, 1)).transpose(1, 2)
        letters = torch.relu(self.filters(spelt)).amax(2).view(n_words, n_utterances, FILTERS)
        states, _ = self.lstm(torch.cat([self.words(words), self.vectors(words), letters], 2))
        return self.slots(states).softmax(2), self.intents(states.mean(0)).softmax(1)


class Reader:
    """Words and labels to ids."""

    def __init__(self, folder):
        lines = lambda name: open(f"{folder}/{name}", encoding="utf-8").read().splitlines()
        self.words = {word: i for i, word in enumerate(sorted({w for line in lines("seq.in") for w in line.split()}), 1)}
        self.labels = sorted({label for line in lines("seq.out") for label in line.split()})
        self.intents = sorted(set(lines("label")))

    def read(self, utterances):
        """The ids of words and characters, words by utterances; what is shorter than the longest is filled up."""
        longest = max(map(len, utterances))
        ids = torch.zeros(longest, len(utterances), dtype=torch.long)
        characters = torch.zeros(longest, len(utterances), LONGEST, dtype=torch.long)
        for column, words in enumerate(utterances):
            ids[: len(words), column] = torch.tensor([self.words.get(word.lower(), 0) for word in words])
            spelt = [[min(ord(c), 127) for c in word[:LONGEST].ljust(LONGEST, "\0")] for word in words]
            characters[: len(words), column] = torch.tensor(spelt)
        return ids, characters

    def tagger(self):
        torch.manual_seed(1)
        return Tagger(len(self.words) + 1, 128, len(self.labels), len(self.intents)).eval()

    def answer(self, text, words, slots, intents):
        """The answer to a text, from the probabilities of the labels of its words and of its intent."""
        probabilities, best = slots[: len(words)].max(1)
        tokens = [
            {"text": word, "label": self.labels[label], "probability": probability}
            for word, label, probability in zip(words, best.tolist(), probabilities.tolist())
        ]
        probability, intent = intents.max(0)
        return {"text": text, "intent": {"name": self.intents[intent.item()], "probability": probability.item()}, "tokens": tokens}


class Frozen:
    """PyTorch, an utterance at a time."""

    def __init__(self, reader):
        # Tracing is on its way out of PyTorch, but nothing is faster for one utterance at a time.
        warnings.filterwarnings("ignore", category=FutureWarning)
        torch.set_num_threads(1)
        self.reader = reader
        self.tagger = torch.jit.freeze(torch.jit.trace(reader.tagger(), reader.read(["play some music now".split()])))

    async def annotate(self, text):
        words = text.split() or [""]
        with torch.inference_mode():
            slots, intents = self.tagger(*self.reader.read([words]))
        return self.reader.answer(text, words, slots[:, 0], intents[0])


class Batched:
    """ONNX Runtime, on as many utterances at once as wait."""

    def __init__(self, reader):
        import onnxruntime

        warnings.filterwarnings("ignore")
        torch.set_num_threads(1)
        self.reader = reader
        graph, example = io.BytesIO(), reader.read(["play some music now".split()] * 2)
        axes = {"words": {0: "words", 1: "utterances"}, "characters": {0: "words", 1: "utterances"}}
        torch.onnx.export(reader.tagger(), example, graph, input_names=list(axes), dynamic_axes=axes, dynamo=False)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = os.cpu_count()
        self.session = onnxruntime.InferenceSession(graph.getvalue(), options, providers=["CPUExecutionProvider"])
        self.waiting = asyncio.Queue()

    def run(self, utterances):
        words, characters = self.reader.read(utterances)
        return map(torch.from_numpy, self.session.run(None, {"words": words.numpy(), "characters": characters.numpy()}))

    async def annotate(self, text):
        words, done = text.split() or [""], asyncio.get_running_loop().create_future()
        self.waiting.put_nowait((words, done))
        slots, intents = await done
        return self.reader.answer(text, words, slots, intents)

    async def work(self):
        while True:
            batch = [await self.waiting.get()]
            while len(batch) < BATCH and not self.waiting.empty():
                batch.append(self.waiting.get_nowait())
            slots, intents = await asyncio.to_thread(self.run, [words for words, _ in batch])
            for column, (_, done) in enumerate(batch):
                # Who is gone waits no more.
                if not done.done():
                    done.set_result((slots[:, column], intents[column]))

    def lines_a_second(self, path, seconds=5):
        """Of a file, sorted by length, again and again; answers are made but not written."""
        texts = sorted(open(path, encoding="utf-8").read().splitlines(), key=lambda text: len(text.split()))
        batches = [texts[start : start + BATCH] for start in range(0, len(texts), BATCH)]
        n, start = 0, time.perf_counter()
        while time.perf_counter() - start < seconds:
            for batch in batches:
                split = [text.split() or [""] for text in batch]
                slots, intents = self.run(split)
                for column, (text, words) in enumerate(zip(batch, split)):
                    self.reader.answer(text, words, slots[:, column], intents[column])
            n += len(texts)
        return n / (time.perf_counter() - start)


def serve(port, folder, kind):
    from aiohttp import web

    tagger = kind(Reader(folder))

    async def annotate(request):
        return web.json_response(await tagger.annotate((await request.json())["text"]), dumps=json.dumps)

    async def work(app):
        task = asyncio.create_task(tagger.work())
        yield
        task.cancel()

    app = web.Application()
    app.add_routes([web.post("/v1/annotate", annotate)])
    if kind is Batched:
        app.cleanup_ctx.append(work)
    web.run_app(app, host="127.0.0.1", port=port, reuse_port=True, print=None, access_log=None)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int)
    parser.add_argument("--train", required=True, help="a folder with seq.in, seq.out and label")
    parser.add_argument("--processes", type=int, default=multiprocessing.cpu_count())
    parser.add_argument("--batched", action="store_true")
    parser.add_argument("--alone", metavar="FILE")
    args = parser.parse_args()
    if args.alone:
        print(f"{Batched(Reader(args.train)).lines_a_second(args.alone):.0f}")
        raise SystemExit
    if args.port is None:
        parser.error("--port or --alone is needed")
    if args.batched:
        serve(args.port, args.train, Batched)
    else:
        for _ in range(1, args.processes):
            multiprocessing.Process(target=serve, args=(args.port, args.train, Frozen), daemon=True).start()
        serve(args.port, args.train, Frozen)
