"""Small taggers from PyTorch as ONNX graphs, with what ONNX Runtime makes of them, and graphs that must be refused.

    python scripts/goldens/onnx_models.py [OUT]

writes crates/meno/tests/onnx, or OUT. Needs torch, transformers, tokenizers, onnx, onnxscript, onnxruntime. The two taggers have
learnt the utterances below by heart:

    bert.onnx     BertForTokenClassification of `transformers`, 2 layers, word pieces
    lstm.onnx     a BiLSTM over words with an output for labels and one for intents

The goldens hold ids and logits of ONNX Runtime for those utterances and for some with words that nobody knows.
"""

import json
import sys
import warnings
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import torch
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import BertConfig, BertForTokenClassification

OUT = Path(__file__).resolve().parents[2] / "crates/meno/tests/onnx"

CORPUS = """\
wake me at six|O O O B-time|alarm
wake me at half past nine|O O O B-time I-time I-time|alarm
set an alarm for noon|O O O O B-time|alarm
call anna|O B-person|call
please call peter parker|O O B-person I-person|call
ring aunt may now|O B-person I-person O|call
weather in new york|O O B-city I-city|weather
what is the weather in oslo|O O O O O B-city|weather
will it rain in san francisco at noon|O O O O B-city I-city O B-time|weather
is it cold in oslo|O O O O B-city|weather"""
STRANGE = ["call zorblax", "weather in xyzzy-town at six", "réveille-moi à six"]
LABELS = ["B-time", "I-time", "O", "B-person", "I-person", "B-city", "I-city"]
INTENTS = ["alarm", "call", "weather"]
LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789-'"


def corpus():
    rows = [line.split("|") for line in CORPUS.splitlines()]
    return [(words.split(), labels.split(), intent) for words, labels, intent in rows]


def pieces():
    words = sorted({word for words, _, _ in corpus() for word in words if len(word) < 5})
    return ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *LETTERS, *("##" + c for c in LETTERS), *words, "##er", "##ork"]


def tokenizer():
    vocabulary = {piece: number for number, piece in enumerate(dict.fromkeys(pieces()))}
    made = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]", max_input_chars_per_word=100))
    made.normalizer = normalizers.BertNormalizer(lowercase=True)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    ends = [("[CLS]", vocabulary["[CLS]"]), ("[SEP]", vocabulary["[SEP]"])]
    made.post_processor = processors.TemplateProcessing("[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1", ends)
    return made


def learn(model, loss, steps):
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(steps):
        optimizer.zero_grad()
        sum(loss(*utterance) for utterance in corpus()).backward()
        optimizer.step()
    model.eval()


def save(path, model, inputs, names, outputs):
    lengths = {name: {1: "length"} for name in [*names, outputs[0]]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            model, tuple(inputs), str(path), input_names=names, output_names=outputs, dynamic_axes=lengths,
            opset_version=18, dynamo=False,
        )  # fmt: skip
    onnx.checker.check_model(str(path), full_check=True)


def bert(out):
    torch.manual_seed(1)
    cutter = tokenizer()
    cutter.save(str(out / "tokenizer.json"))
    config = BertConfig(
        vocab_size=cutter.get_vocab_size(), hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=32, max_position_embeddings=64, num_labels=len(LABELS), attn_implementation="eager",
        id2label=dict(enumerate(LABELS)), label2id={label: number for number, label in enumerate(LABELS)},
        hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
    )  # fmt: skip
    model = BertForTokenClassification(config)
    (out / "config.json").write_text(model.config.to_json_string())

    def encoded(words):
        found = cutter.encode(words, is_pretokenized=True)
        firsts = [found.word_ids.index(number) for number in range(len(words))]
        return torch.tensor([found.ids]), firsts

    def loss(words, labels, _):
        ids, firsts = encoded(words)
        logits = model(input_ids=ids).logits[0, firsts]
        return torch.nn.functional.cross_entropy(logits, torch.tensor([LABELS.index(label) for label in labels]))

    learn(model, loss, 60)
    ids, _ = encoded(corpus()[1][0])
    names = ["input_ids", "attention_mask", "token_type_ids"]

    class Plain(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, input_ids, attention_mask, token_type_ids):
            found = self.model(input_ids=input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids)
            return found.logits

    save(out / "bert.onnx", Plain().eval(), [ids, torch.ones_like(ids), torch.zeros_like(ids)], names, ["logits"])
    session = onnxruntime.InferenceSession(str(out / "bert.onnx"), providers=["CPUExecutionProvider"])
    goldens = []
    for words in [words for words, _, _ in corpus()] + [text.split() for text in STRANGE]:
        ids, firsts = encoded(words)
        feeds = {"input_ids": ids, "attention_mask": torch.ones_like(ids), "token_type_ids": torch.zeros_like(ids)}
        feeds = {name: value.numpy() for name, value in feeds.items() if name in {i.name for i in session.get_inputs()}}
        (logits,) = session.run(None, feeds)
        goldens.append({"words": words, "ids": ids[0].tolist(), "logits": rounded(logits[0, firsts])})
    write_goldens(out / "bert.json", goldens)


class BiLstm(torch.nn.Module):
    def __init__(self, n_words):
        super().__init__()
        self.embedding = torch.nn.Embedding(n_words, 16)
        self.lstm = torch.nn.LSTM(16, 16, bidirectional=True, batch_first=True)
        self.label = torch.nn.Linear(32, len(LABELS))
        self.intent = torch.nn.Linear(32, len(INTENTS))

    def forward(self, words):
        states, _ = self.lstm(self.embedding(words))
        return self.label(states), torch.softmax(self.intent(states.mean(dim=1)), dim=-1)


def lstm(out):
    torch.manual_seed(2)
    vocabulary = ["<pad>", *sorted({word for words, _, _ in corpus() for word in words}), "<unk>"]
    (out / "words.txt").write_text("\n".join(vocabulary) + "\n")
    (out / "labels.txt").write_text("\n".join(LABELS) + "\n")
    (out / "intents.json").write_text(json.dumps(INTENTS) + "\n")
    model = BiLstm(len(vocabulary))

    def encoded(words):
        unknown = len(vocabulary) - 1
        return torch.tensor([[vocabulary.index(word) if word in vocabulary else unknown for word in words]])

    def loss(words, labels, intent):
        logits, intents = model(encoded(words))
        right = torch.tensor([LABELS.index(label) for label in labels])
        return torch.nn.functional.cross_entropy(logits[0], right) - intents[0, INTENTS.index(intent)].log()

    learn(model, loss, 40)
    save(out / "lstm.onnx", model, [encoded(corpus()[1][0])], ["words"], ["labels", "intents"])
    session = onnxruntime.InferenceSession(str(out / "lstm.onnx"), providers=["CPUExecutionProvider"])
    goldens = []
    for words in [words for words, _, _ in corpus()] + [text.split() for text in STRANGE]:
        logits, intents = session.run(None, {"words": encoded(words).numpy()})
        goldens.append({
            "words": words, "ids": encoded(words)[0].tolist(), "logits": rounded(logits[0]),
            "intents": rounded(np.log(intents))[0],
        })  # fmt: skip
    write_goldens(out / "lstm.json", goldens)


def rounded(table):
    return [[float(f"{number:.7g}") for number in row] for row in table]


def write_goldens(path, goldens):
    path.write_text("[\n" + ",\n".join(json.dumps(golden, ensure_ascii=False) for golden in goldens) + "\n]\n")


def graph(nodes, weights=(), outputs=("logits",), width=len(LABELS)):
    inputs = [helper.make_tensor_value_info("words", TensorProto.INT64, [1, "length"])]
    outputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, "length", width]) for name in outputs]
    made = helper.make_graph(nodes, "refused", inputs, outputs, [numpy_helper.from_array(w, n) for n, w in weights])
    return helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def refused(out):
    """Graphs that must be refused, each with what the error has to name."""
    table = np.arange(100 * len(LABELS), dtype=np.float32).reshape(100, len(LABELS))
    gather = helper.make_node("Gather", ["table", "words"], ["rows"], name="look_up")
    last = helper.make_node("Identity", ["rows"], ["logits"], name="last")
    nan, huge = table.copy(), table.copy()
    nan[3, 2] = np.nan
    huge[1, 1] = np.inf
    body = helper.make_graph(
        [helper.make_node("Identity", ["on"], ["on_out"]), helper.make_node("Identity", ["x"], ["x_out"])],
        "body",
        [helper.make_tensor_value_info("i", TensorProto.INT64, []), helper.make_tensor_value_info("on", TensorProto.BOOL, []),
         helper.make_tensor_value_info("x", TensorProto.FLOAT, None)],
        [helper.make_tensor_value_info("on_out", TensorProto.BOOL, []), helper.make_tensor_value_info("x_out", TensorProto.FLOAT, None)],
    )  # fmt: skip
    loop = helper.make_node("Loop", ["", "on", "rows"], ["logits"], name="for_ever", body=body)
    outside = numpy_helper.to_array(numpy_helper.from_array(table[:5]))
    external = graph([gather, last], [("table", table)])
    tensor = external.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="../../../../etc/passwd")
    cases = {
        "cyclic": (graph([helper.make_node("Add", ["rows", "logits"], ["sum"], name="circle"), gather,
                          helper.make_node("Identity", ["sum"], ["logits"])], [("table", table)]), "circle"),
        "gap": (graph([helper.make_node("Gather", ["nowhere", "words"], ["logits"], name="look_up")]), "look_up"),
        "nan": (graph([gather, last], [("table", nan)]), "table"),
        "infinite": (graph([gather, last], [("table", huge)]), "table"),
        "loop": (graph([gather, loop], [("table", table), ("on", np.array(True))]), "for_ever"),
        "operator": (graph([gather, helper.make_node("NonZero", ["rows"], ["some"], name="where"),
                            helper.make_node("Identity", ["some"], ["logits"])], [("table", table)]), "where"),
        "small_table": (graph([gather, last], [("table", outside)]), "look_up"),
        "few_labels": (graph([gather, last], [("table", table[:, :3].copy())], width=3), "logits"),
        "no_output": (graph([gather], [("table", table)], outputs=["missing"]), "missing"),
        "outside": (external, "table"),
    }  # fmt: skip
    for name, (model, _) in cases.items():
        (out / "refused" / f"{name}.onnx").write_bytes(model.SerializeToString())
    names = {name: needle for name, (_, needle) in cases.items()}
    (out / "refused" / "names.json").write_text(json.dumps(names, indent=1) + "\n")


def main():
    torch.set_num_threads(1)
    out = Path(sys.argv[1]) if len(sys.argv) > 1 else OUT
    (out / "refused").mkdir(parents=True, exist_ok=True)
    bert(out)
    lstm(out)
    refused(out)
    (out / "seq.in").write_text("".join(" ".join(words) + "\n" for words, _, _ in corpus()))
    (out / "seq.out").write_text("".join(" ".join(labels) + "\n" for _, labels, _ in corpus()))
    (out / "label").write_text("".join(intent + "\n" for _, _, intent in corpus()))


if __name__ == "__main__":
    main()
