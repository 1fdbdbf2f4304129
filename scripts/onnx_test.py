"""What scripts/onnx_test.sh checks, by ONNX Runtime: exit code 1 and a reason if something does not hold.

    onnx_test.py exported DIR ANSWERS            a folder of `meno export`, and what `meno tag --words --json` says of a corpus
    onnx_test.py wrapped MENO FIXTURES SCRATCH   a meno, crates/meno/tests/onnx, and a folder to write to
"""

import json
import re
import subprocess
import sys
import urllib.request
from pathlib import Path

import numpy as np
import onnx
import onnxruntime

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "examples/onnx"))
from reader import Tagger  # noqa: E402


def demand(holds, message):
    if not holds:
        sys.exit(f"error: {message}")


def exported(folder, answers):
    onnx.checker.check_model(str(folder / "model.onnx"), full_check=True)
    tagger = Tagger(folder)
    n, spans = 0, 0
    for line in answers.read_text().splitlines():
        answer = json.loads(line)
        words = [token["text"] for token in answer["tokens"]]
        labels, intent = tagger.tag(words)
        expected = [token["first_choice"] for token in answer["tokens"]]
        demand(labels == expected, f"{folder}: {words} is {labels}, not {expected}")
        demand(intent == answer["intent"]["name"], f"{folder}: {words} is {intent}, not {answer['intent']}")
        if "boundaries" in tagger.outputs:
            guesses = [span["guess"]["uncertainty"] for span in answer["spans"] if "guess" in span]
            found = [span["uncertainty"] for span in tagger.spans(words, tagger.emit(words)) if not span["doubtful"]]
            # What is nearly certain differs most: the probability is an f32 in Meno.
            same = len(found) == len(guesses) and np.allclose(found, guesses, atol=0.01)
            demand(same, f"{folder}: {words} has the uncertainties {found}, not {guesses}")
        n, spans = n + 1, spans + sum(label.startswith("B-") for label in labels)
    demand(n > 100 and spans > 0, f"{folder}: {n} utterances with {spans} spans show nothing")
    print(f"{folder.name}: onnx.checker passes, {n} utterances with {spans} spans have the same labels and intents")


def wrapped(meno, fixtures, scratch):
    run_all(meno, fixtures, scratch, "bert", ["--tokenizer", "tokenizer.json", "--labels", "config.json"])
    lstm = ["--tokenizer", "words.txt", "--labels", "labels.txt", "--intents", "intents.json"]
    run_all(meno, fixtures, scratch, "lstm", lstm)
    names = json.loads((fixtures / "refused/names.json").read_text())
    for name, needle in names.items():
        command = ["wrap", f"refused/{name}.onnx", *lstm[:4], "-o", scratch / "refused.meno"]
        ended = subprocess.run([meno, *command], cwd=fixtures, capture_output=True, text=True)
        demand(ended.returncode == 2 and f'"{needle}"' in ended.stderr and "hint:" in ended.stderr, f"{name}: {ended.stderr}")
        demand("mistake in meno" not in ended.stderr, ended.stderr)
        demand(not (scratch / "refused.meno").exists(), f"{name}: something was written")
    print(f"{len(names)} graphs are refused with the name of a node, a tensor or an output")


def run_all(meno, fixtures, scratch, name, arguments):
    model = scratch / f"{name}.meno"

    def run(*command, stdin=None):
        ended = subprocess.run([meno, *command], cwd=fixtures, capture_output=True, text=True, input=stdin)
        demand(ended.returncode == 0, f"{command}: {ended.stderr}")
        return ended.stdout

    valid = scratch / "valid"
    valid.mkdir(exist_ok=True)
    for file in ("seq.in", "seq.out", "label"):
        (valid / file).write_text((fixtures / file).read_text())
    run("wrap", f"{name}.onnx", *arguments, "--valid", valid, "-o", model)
    answers = [json.loads(line) for line in run("tag", model, "seq.in", "--words", "--json").splitlines()]
    compare(fixtures, name, model, answers)
    report = json.loads(run("eval", model, valid, "--json"))
    demand(report["slot_f1"] > 90, f"{name}: {report}")
    said = run("chat", model, "--store", scratch / f"{name}.db", stdin="call anna\nplease call zorblax\na person\n")
    demand("[anna|person]" in said, f"{name}: {said}")
    store = scratch / f"{name}.db"
    run("memory", "add", "Zorblax Road", "city", "--store", store)
    (line,) = run("tag", model, "--store", store, "--json", stdin="weather in zorblax road\n").splitlines()
    demand([span["slot"] for span in json.loads(line)["spans"]] == ["city"], f"{name}: {line}")
    serve(meno, model, scratch)
    print(f"{name}: wrap, tag, eval, chat, memory and serve work; labels are those of ONNX Runtime")


def compare(fixtures, name, model, answers):
    """The likeliest labels are those of the logits that ONNX Runtime gives now, from the ids in the goldens."""
    session = onnxruntime.InferenceSession(str(fixtures / f"{name}.onnx"), providers=["CPUExecutionProvider"])
    labels = (fixtures / "labels.txt").read_text().split()
    for golden, answer in zip(json.loads((fixtures / f"{name}.json").read_text()), answers):
        ids = np.array([golden["ids"]], np.int64)
        others = {"attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        feeds = {node.name: others.get(node.name, ids) for node in session.get_inputs()}
        logits = session.run(None, feeds)[0][0]
        firsts = [row for row in logits if np.abs(np.array(golden["logits"]) - row).max(axis=1).min() < 1e-4]
        found = [labels[row.argmax()] for row in np.array(golden["logits"])]
        demand(len(firsts) >= len(found), f"{name}: the goldens are not those of this ONNX Runtime")
        demand(found == [token["first_choice"] for token in answer["tokens"]], f"{name}: {golden['words']}: {answer}")


def serve(meno, model, scratch):
    log = scratch / "log"
    with log.open("w") as out:
        server = subprocess.Popen([meno, "serve", model, "--store", scratch / "serve.db", "--listen", "127.0.0.1:0"], stderr=out)
    try:
        for _ in range(200):
            address = re.search(r"http://[^/\s]*", log.read_text())
            if address:
                break
            try:
                server.wait(0.05)
                sys.exit(f"error: the server ended: {log.read_text()}")
            except subprocess.TimeoutExpired:
                pass
        body = json.dumps({"text": "weather in new york"}).encode()
        request = urllib.request.Request(f"{address[0]}/v1/annotate", body, {"content-type": "application/json"})
        answer = json.load(urllib.request.urlopen(request, timeout=10))
        demand([span["slot"] for span in answer["spans"]] == ["city"], f"{answer}")
    finally:
        server.terminate()
        server.wait()


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["exported", folder, answers]:
            exported(Path(folder), Path(answers))
        case ["wrapped", meno, fixtures, scratch]:
            wrapped(Path(meno).resolve(), Path(fixtures), Path(scratch))
        case _:
            sys.exit(__doc__)
