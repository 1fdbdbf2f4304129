//! Folders that can be read, and those that cannot.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use expect_test::{Expect, expect};
use proptest::prelude::*;
use safetensors::tensor::Dtype;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;
use crate::tensors::RawTensor;
use crate::text::tests::left_out::left_out;

const SHAPE: TransformerShape = TransformerShape {
    vocabulary: 8,
    hidden: 16,
    layers: 2,
    heads: 2,
    intermediate: 32,
    positions: 4,
    types: 2,
    norm_epsilon: 1e-12,
};

const VOCABULARY: [&str; 7] = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "play", "##ing", "é"];

/// The files of a folder, before they are written.
struct Folder {
    config: Value,
    tokenizer: Value,
    tensors: BTreeMap<String, (Dtype, Vec<usize>, Vec<u8>)>,
}

impl Folder {
    fn bert() -> Self {
        let config = json!({
            "model_type": "bert", "vocab_size": 8, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2,
            "intermediate_size": 32, "max_position_embeddings": 4, "type_vocab_size": 2, "layer_norm_eps": 1e-12,
            "hidden_act": "gelu", "position_embedding_type": "absolute", "is_decoder": false
        });
        let vocab: HashMap<&str, usize> = VOCABULARY.into_iter().zip(0..).collect();
        let tokenizer = json!({
            "added_tokens": [{"id": 0, "content": "[PAD]"}],
            "normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
                           "strip_accents": null, "lowercase": true},
            "pre_tokenizer": {"type": "BertPreTokenizer"},
            "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                      "max_input_chars_per_word": 100, "vocab": vocab}
        });
        let tensor = |(number, (name, shape)): (usize, (String, Vec<usize>))| {
            let n: usize = shape.iter().product();
            let data = (0..n).flat_map(|i| value(number, i).to_le_bytes()).collect();
            (name, (Dtype::F32, shape, data))
        };
        Folder { config, tokenizer, tensors: SHAPE.tensors().into_iter().enumerate().map(tensor).collect() }
    }

    /// The same under the names of DistilBERT, as a classifier has them.
    fn distilbert() -> Self {
        let mut folder = Folder::bert();
        folder.config = json!({
            "model_type": "distilbert", "vocab_size": 8, "dim": 16, "n_layers": 2, "n_heads": 2, "hidden_dim": 32,
            "max_position_embeddings": 4, "activation": "gelu", "sinusoidal_pos_embds": false
        });
        folder.tensors.remove("embeddings.token_type_embeddings.weight");
        folder.rename(|name| format!("distilbert.{}", Family::DistilBert.name(name)));
        folder
    }

    fn rename(&mut self, name: impl Fn(&str) -> String) {
        self.tensors =
            std::mem::take(&mut self.tensors).into_iter().map(|(key, tensor)| (name(&key), tensor)).collect();
    }

    fn weights(&self) -> Vec<u8> {
        let raw = |(dtype, shape, data): &(Dtype, Vec<usize>, Vec<u8>)| RawTensor {
            dtype: *dtype,
            shape: shape.clone(),
            data: data.clone(),
        };
        safetensors::serialize(self.tensors.iter().map(|(name, tensor)| (name, raw(tensor))), None).unwrap()
    }

    fn write(&self) -> TempDir {
        let dir = TempDir::new().unwrap();
        fs::write(dir.path().join("config.json"), self.config.to_string()).unwrap();
        fs::write(dir.path().join("tokenizer.json"), self.tokenizer.to_string()).unwrap();
        fs::write(dir.path().join("model.safetensors"), self.weights()).unwrap();
        dir
    }

    fn open(&self) -> Result<Pretrained> {
        Pretrained::open(self.write().path())
    }
}

/// A number of a tensor that bfloat16 holds exactly.
fn value(tensor: usize, i: usize) -> f32 {
    ((31 * tensor + i) % 127) as f32 / 16.0 - 4.0
}

fn message(dir: &Path, error: &Error) -> String {
    error.to_string().replace(&*dir.to_string_lossy(), "FOLDER")
}

/// The message of a folder after a change.
fn check(change: impl FnOnce(&mut Folder), expected: Expect) {
    let mut folder = Folder::bert();
    change(&mut folder);
    let dir = folder.write();
    let error = Pretrained::open(dir.path()).unwrap_err();
    assert!(error.hint().is_some());
    expected.assert_eq(&message(dir.path(), &error));
}

fn assert_weights(pretrained: &Pretrained) {
    for (number, (name, shape)) in SHAPE.tensors().into_iter().enumerate() {
        if pretrained.shape.types == 1 && name.contains("token_type") {
            assert_eq!(pretrained.tensor(&name), [0.0; 16]);
            continue;
        }
        let expected: Vec<f32> = (0..shape.iter().product()).map(|i| value(number, i)).collect();
        assert_eq!(pretrained.tensor(&name), expected, "{name}");
    }
}

#[test]
fn bert_is_read() {
    let pretrained = Folder::bert().open().unwrap();
    assert_eq!(pretrained.shape, SHAPE);
    assert_eq!(pretrained.shape.tensors().len(), 5 + 2 * 16);
    assert_weights(&pretrained);
    let mut ids = Vec::new();
    pretrained.pieces.pieces("Playing", &mut ids);
    assert_eq!((ids, pretrained.pieces.len(), pretrained.pieces.cls()), (vec![4, 5], 7, 2));
}

#[test]
fn older_names_of_bert_are_read() {
    let mut folder = Folder::bert();
    let older = |name: &str| {
        name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta")
    };
    folder.rename(|name| format!("bert.{}", older(name)));
    assert_weights(&folder.open().unwrap());
}

#[test]
fn distilbert_is_read() {
    let folder = Folder::distilbert();
    let names: Vec<&str> =
        folder.tensors.keys().map(String::as_str).filter(|name| name.contains("layer.1")).collect();
    expect![[r#"
        distilbert.transformer.layer.1.attention.k_lin.bias
        distilbert.transformer.layer.1.attention.k_lin.weight
        distilbert.transformer.layer.1.attention.out_lin.bias
        distilbert.transformer.layer.1.attention.out_lin.weight
        distilbert.transformer.layer.1.attention.q_lin.bias
        distilbert.transformer.layer.1.attention.q_lin.weight
        distilbert.transformer.layer.1.attention.v_lin.bias
        distilbert.transformer.layer.1.attention.v_lin.weight
        distilbert.transformer.layer.1.ffn.lin1.bias
        distilbert.transformer.layer.1.ffn.lin1.weight
        distilbert.transformer.layer.1.ffn.lin2.bias
        distilbert.transformer.layer.1.ffn.lin2.weight
        distilbert.transformer.layer.1.output_layer_norm.bias
        distilbert.transformer.layer.1.output_layer_norm.weight
        distilbert.transformer.layer.1.sa_layer_norm.bias
        distilbert.transformer.layer.1.sa_layer_norm.weight"#]]
    .assert_eq(&names.join("\n"));
    let pretrained = folder.open().unwrap();
    assert_eq!(pretrained.shape, TransformerShape { types: 1, ..SHAPE });
    assert_weights(&pretrained);
}

#[test]
fn halves_are_read() {
    let mut folder = Folder::bert();
    for (number, (_, (dtype, _, data))) in folder.tensors.iter_mut().enumerate() {
        let floats = data.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes));
        let halves: Vec<u8> = match number % 2 {
            0 => floats.flat_map(|x| ((x.to_bits() >> 16) as u16).to_le_bytes()).collect(),
            _ => floats.flat_map(|x| to_f16(x).to_le_bytes()).collect(),
        };
        (*dtype, *data) = (if number % 2 == 0 { Dtype::BF16 } else { Dtype::F16 }, halves);
    }
    assert_weights(&folder.open().unwrap());
}

/// Of a number that it holds exactly.
fn to_f16(x: f32) -> u16 {
    (0..=u16::MAX).find(|&bits| from_f16(bits) == x).unwrap()
}

#[test]
fn f16_by_the_definition() {
    for bits in 0..=u16::MAX {
        let (exponent, fraction) = (i32::from(bits >> 10 & 31), f64::from(bits & 0x3ff) / 1024.0);
        let magnitude = match exponent {
            0 => fraction * 2_f64.powi(-14),
            31 if fraction == 0.0 => f64::INFINITY,
            31 => f64::NAN,
            _ => (1.0 + fraction) * 2_f64.powi(exponent - 15),
        };
        let expected = if bits >> 15 == 1 { -magnitude } else { magnitude };
        let value = f64::from(from_f16(bits));
        assert!(
            value == expected && value.is_sign_negative() == expected.is_sign_negative()
                || value.is_nan() && expected.is_nan()
        );
    }
}

#[test]
fn a_vocabulary_as_text_is_read() {
    let lines = VOCABULARY.join("\n") + "\n";
    for (config, cased) in [(None, false), (Some(r#"{"do_lower_case": false}"#), true), (Some("{}"), false)] {
        let dir = Folder::bert().write();
        fs::remove_file(dir.path().join("tokenizer.json")).unwrap();
        fs::write(dir.path().join("vocab.txt"), &lines).unwrap();
        if let Some(config) = config {
            fs::write(dir.path().join("tokenizer_config.json"), config).unwrap();
        }
        let pretrained = Pretrained::open(dir.path()).unwrap();
        let settings = pretrained.pieces.settings();
        assert_eq!((settings.lowercase, settings.strip_accents), (!cased, !cased));
        let mut ids = Vec::new();
        pretrained.pieces.pieces("é", &mut ids);
        assert_eq!(ids, [if cased { 6 } else { 1 }]);
    }
}

#[test]
fn configurations_of_others_are_refused() {
    let set = |key: &'static str, value: Value| move |folder: &mut Folder| folder.config[key] = value;
    check(
        set("model_type", json!("mpnet")),
        expect![[r#"FOLDER/config.json: "model_type" is "mpnet", not "bert" or "distilbert""#]],
    );
    check(
        set("model_type", json!(null)),
        expect![[r#"FOLDER/config.json: "model_type" is null, not "bert" or "distilbert""#]],
    );
    check(
        set("hidden_act", json!("gelu_new")),
        expect![[r#"FOLDER/config.json: "hidden_act" is "gelu_new", not "gelu""#]],
    );
    check(
        set("is_decoder", json!(true)),
        expect![[r#"FOLDER/config.json: "is_decoder" is true, not false"#]],
    );
    check(
        set("position_embedding_type", json!("relative_key")),
        expect![[r#"FOLDER/config.json: "position_embedding_type" is "relative_key", not "absolute""#]],
    );
    check(
        set("num_attention_heads", json!(3)),
        expect![[r#"FOLDER/config.json: "num_attention_heads" is 3, not a divisor of "hidden_size", 16"#]],
    );
    check(
        set("hidden_size", json!(24)),
        expect![[r#"FOLDER/config.json: "hidden_size" is 24, not a multiple of 16 up to 4096"#]],
    );
    check(
        set("num_hidden_layers", json!(1e9)),
        expect![[
            r#"FOLDER/config.json: "num_hidden_layers" is 1000000000.0, not a whole number from 1 to 64"#
        ]],
    );
    check(
        set("layer_norm_eps", json!(-1)),
        expect![[r#"FOLDER/config.json: "layer_norm_eps" is -1, not a number between 0 and 1"#]],
    );
    check(
        set("vocab_size", json!(6)),
        expect![[r#"FOLDER/config.json: "vocab_size" is 6, but the tokenizer has 7"#]],
    );
    check(
        |folder| {
            folder.config.as_object_mut().unwrap().remove("intermediate_size");
        },
        expect![[r#"FOLDER/config.json: there is no "intermediate_size""#]],
    );
    check(|folder| folder.config = json!([1]), expect![[r#"FOLDER/config.json: there is no "model_type""#]]);
}

#[test]
fn tokenizers_of_others_are_refused() {
    let set = |path: &'static str, value: Value| {
        move |folder: &mut Folder| *folder.tokenizer.pointer_mut(path).unwrap() = value
    };
    check(
        set("/model", json!({"type": "BPE", "vocab": {}})),
        expect![[r#"FOLDER/tokenizer.json: "model.type" is "BPE", not "WordPiece""#]],
    );
    check(
        set("/model", json!({"type": "Unigram", "vocab": [["a", 0.5]]})),
        expect![[r#"FOLDER/tokenizer.json: "model.type" is "Unigram", not "WordPiece""#]],
    );
    check(
        set("/normalizer", json!(null)),
        expect![[r#"FOLDER/tokenizer.json: "normalizer.type" is missing, not "BertNormalizer""#]],
    );
    check(
        set("/pre_tokenizer", json!({"type": "Metaspace"})),
        expect![[r#"FOLDER/tokenizer.json: "pre_tokenizer.type" is "Metaspace", not "BertPreTokenizer""#]],
    );
    check(
        set("/model/continuing_subword_prefix", json!("@@")),
        expect![[r###"FOLDER/tokenizer.json: "model.continuing_subword_prefix" is "@@", not "##""###]],
    );
    check(
        set("/model/unk_token", json!("<unk>")),
        expect![[r#"FOLDER/tokenizer.json: there is no piece "<unk>""#]],
    );
    check(
        set("/model/vocab", json!({"[UNK]": 1, "[CLS]": 2})),
        expect![[r#"FOLDER/tokenizer.json: there is no piece "[SEP]""#]],
    );
    check(
        set("/model/vocab", json!({"[UNK]": 4_000_000_000_u32})),
        expect![[r#"FOLDER/tokenizer.json: there are 2 pieces, but none has the id 1"#]],
    );
    check(
        set("/model/vocab", json!({"a\nb": 1})),
        expect![[r#"FOLDER/tokenizer.json: the piece "a\nb" has a line feed in it"#]],
    );
    check(
        set("/model/vocab", json!({"a": -1})),
        expect![[
            r#"FOLDER/tokenizer.json: not a tokenizer: invalid value: integer `-1`, expected u32 at line 1 column 172"#
        ]],
    );
}

#[test]
fn damaged_weights_are_refused() {
    const NAME: &str = "encoder.layer.1.output.dense.weight";
    let change = |what: fn(&mut (Dtype, Vec<usize>, Vec<u8>))| {
        move |folder: &mut Folder| what(folder.tensors.get_mut(NAME).unwrap())
    };
    check(
        |folder| {
            folder.tensors.remove(NAME);
        },
        expect![[r#"FOLDER/model.safetensors: the tensor "encoder.layer.1.output.dense.weight" is missing"#]],
    );
    check(
        change(|tensor| tensor.1 = vec![32, 16]),
        expect![[
            r#"FOLDER/model.safetensors: the tensor "encoder.layer.1.output.dense.weight" is of shape [32, 16], but config.json says [16, 32]"#
        ]],
    );
    check(
        change(|tensor| tensor.0 = Dtype::I32),
        expect![[
            r#"FOLDER/model.safetensors: the tensor "encoder.layer.1.output.dense.weight" is I32, not F32, F16 or BF16"#
        ]],
    );
    check(
        change(|tensor| tensor.2[8..12].copy_from_slice(&f32::NAN.to_le_bytes())),
        expect![[
            r#"FOLDER/model.safetensors: number 2 of the tensor "encoder.layer.1.output.dense.weight" is NaN"#
        ]],
    );
    check(
        change(|tensor| tensor.2[4..8].copy_from_slice(&f32::NEG_INFINITY.to_le_bytes())),
        expect![[
            r#"FOLDER/model.safetensors: number 1 of the tensor "encoder.layer.1.output.dense.weight" is -inf"#
        ]],
    );
}

/// The message of a folder after a change of its files.
fn check_files(change: impl FnOnce(&Path), expected: Expect) {
    let dir = Folder::bert().write();
    change(dir.path());
    let error = Pretrained::open(dir.path()).unwrap_err();
    expected.assert_eq(&message(dir.path(), &error));
}

#[test]
fn folders_that_are_not_whole_are_refused() {
    let remove = |name: &'static str| move |dir: &Path| fs::remove_file(dir.join(name)).unwrap();
    check_files(remove("config.json"), expect!["FOLDER/config.json: there is no such file"]);
    check_files(remove("tokenizer.json"), expect!["FOLDER/tokenizer.json: there is no such file"]);
    check_files(remove("model.safetensors"), expect!["FOLDER/model.safetensors: there is no such file"]);
    check_files(
        |dir| fs::rename(dir.join("model.safetensors"), dir.join("pytorch_model.bin")).unwrap(),
        expect!["FOLDER: there is pytorch_model.bin, but no model.safetensors"],
    );
    check_files(
        |dir| fs::write(dir.join("config.json"), "{").unwrap(),
        expect!["FOLDER/config.json: not JSON: EOF while parsing an object at line 1 column 1"],
    );
    check_files(
        |dir| {
            fs::File::options()
                .write(true)
                .open(dir.join("model.safetensors"))
                .unwrap()
                .set_len(MAX_BYTES + 1)
                .unwrap()
        },
        expect!["FOLDER/model.safetensors: it has 2147483649 bytes, more than 2147483648"],
    );
    let file = tempfile::NamedTempFile::new().unwrap();
    let error = Pretrained::open(file.path()).unwrap_err();
    assert!(error.to_string().ends_with("this is a file, not a folder"), "{error}");
    assert_eq!(
        Pretrained::open(Path::new("/no/such/folder")).unwrap_err().kind(),
        crate::ErrorKind::NotFound
    );
}

#[test]
fn no_beginning_of_the_weights_is_taken_for_all_of_them() {
    let bytes = Folder::bert().weights();
    for n in (0..bytes.len()).step_by(97).chain([7, 8, 9, bytes.len() - 1]) {
        assert!(weights(&bytes[..n], &SHAPE, Family::Bert).is_err(), "{n}");
    }
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(at in 0..4000_usize, byte: u8) {
        let mut bytes = Folder::bert().weights();
        bytes[at] = byte;
        let _ = weights(&bytes, &SHAPE, Family::Bert);
    }
}

#[test]
fn minilm_is_read() {
    let fetched = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/minilm");
    let folder = std::env::var_os("MENO_MINILM").map_or(fetched, PathBuf::from);
    if !folder.join(WEIGHTS).exists() {
        let why = "neither $MENO_MINILM nor target/minilm is there (scripts/get_minilm.sh target/minilm)";
        return left_out("the weights of MiniLM", why);
    }
    let pretrained = Pretrained::open(&folder).unwrap();
    let shape = TransformerShape {
        vocabulary: 30522,
        hidden: 384,
        layers: 6,
        heads: 12,
        intermediate: 1536,
        positions: 512,
        types: 2,
        norm_epsilon: 1e-12,
    };
    assert_eq!(pretrained.shape, shape);
    let mut ids = Vec::new();
    pretrained.pieces.pieces("unaffable", &mut ids);
    assert_eq!(ids, [14477, 20961, 3468]);
    // NumPy's sums of the tensors, as f64.
    for (name, sum) in [
        ("embeddings.word_embeddings.weight", 138.05072214923618),
        ("encoder.layer.5.output.dense.weight", -53.19849107446487),
    ] {
        let own: f64 = pretrained.tensor(name).iter().map(|&x| f64::from(x)).sum();
        assert!((own - sum).abs() < 1e-6, "{name}: {own}");
    }
}
