#!/usr/bin/env python3
"""Checks that the shipped syntax model was trained without the utterances that taggers are judged by.

    scripts/check_syntax_data.py [DATA] [MODEL]

DATA is $MENO_DATA or ../shared/data, MODEL crates/meno-english-syntax/english.syntax. Works out which sentences of the treebanks may be
trained on and compares their number and fingerprint with the training record in the model file. Shares no code with the
trainer.
"""

import json
import os
import struct
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TREEBANKS = ["en_ewt-ud-train.conllu", "en_atis-ud-train.conllu"]
FNV_OFFSET, FNV_PRIME = 0xCBF29CE484222325, 0x100000001B3


def key(words):
    return "".join(c for c in "".join(words) if c.isalnum()).lower()


def sentences(path):
    for block in path.read_text(encoding="utf-8").strip().split("\n\n"):
        lines = (line.split("\t") for line in block.split("\n") if not line.startswith("#"))
        yield [columns[1] for columns in lines if columns[0].isdigit()]


def held_out(data):
    for corpus in ("atis", "snips"):
        for split in sorted((data / corpus).iterdir()):
            if split.name != "train":
                for line in (split / "seq.in").read_text(encoding="utf-8").splitlines():
                    yield corpus, split.name, key(line.split())


def main():
    data = Path(sys.argv[1] if len(sys.argv) > 1 else os.environ.get("MENO_DATA", ROOT.parent / "shared/data"))
    model = Path(sys.argv[2] if len(sys.argv) > 2 else ROOT / "crates/meno-english-syntax/english.syntax")
    excluded = {utterance for _, _, utterance in held_out(data)}
    everything = [key(words) for name in TREEBANKS for words in sentences(data / "ud" / name)]
    allowed = [sentence for sentence in everything if sentence not in excluded]
    fingerprint = FNV_OFFSET
    for byte in "".join(sentence + "\n" for sentence in allowed).encode():
        fingerprint = (fingerprint ^ byte) * FNV_PRIME % 2**64
    raw = model.read_bytes()
    header = json.loads(raw[8 : 8 + struct.unpack("<Q", raw[:8])[0]])
    record = json.loads(header["__metadata__"]["meno.syntax"])["training"]
    print(f"{len(everything)} sentences in the treebanks, {len(everything) - len(allowed)} held out by ATIS and Snips")
    print(f"{len(allowed)} may be trained on, fingerprint {fingerprint:016x}")
    print(f"{record['sentences']} were trained on, fingerprint {record['fingerprint']}")
    if (record["sentences"], record["fingerprint"]) != (len(allowed), f"{fingerprint:016x}"):
        sys.exit("error: the model was trained on other sentences")
    print("the model was trained on these and no others")


if __name__ == "__main__":
    main()
