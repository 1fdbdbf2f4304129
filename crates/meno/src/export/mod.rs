//! A model as an ONNX graph, for programs that are not Rust. `docs/onnx.md` describes what is written.
//!
//! The graph has the network. What no graph can do, words to numbers before it and the decoding of spans after it, needs
//! tables, which stand beside it; `examples/onnx/reader.py` does that part in Python.

mod graph;
mod networks;
mod protobuf;

use std::path::Path;

use serde_json::{Value, json};

use crate::artifact::{SLOT_GATED, SPAN_TAGGER};
use crate::atomic;
use crate::encoder::Encoder;
use crate::engine::{MAX_WORDS, Model};
use crate::features::{Alphabet, BUCKETS};
use crate::uncertainty::{Score, Scorer};
use crate::{Error, Result};
use networks::Beside;

/// The version of the document that is written.
const VERSION: u32 = 1;

const GRAPH: &str = "model.onnx";
const DOCUMENT: &str = "meno.json";
const VECTORS: &str = "vectors.safetensors";
const GLOVE: &str = "glove.safetensors";

impl Model {
    /// Writes the model as an ONNX graph into a folder, with the tables that it needs beside it; gives the names of the files.
    ///
    /// A new folder appears whole; in an old one files of the same names are replaced.
    pub fn export_onnx(&self, folder: &Path) -> Result<Vec<&'static str>> {
        let files = self.onnx_files()?;
        atomic::write_folder(folder, &files, &[VECTORS, GLOVE])?;
        Ok(files.into_iter().map(|(name, _)| name).collect())
    }

    fn onnx_files(&self) -> Result<Vec<(&'static str, Vec<u8>)>> {
        let (graph, architecture) = match &self.encoder {
            Encoder::SlotGated(encoder) => (networks::slot_gated(encoder), SLOT_GATED),
            Encoder::SpanTagger(encoder) if encoder.int8.is_some() => {
                return Err(Error::Setting {
                    problem: "the model has weights of 8 bits, which are not written as ONNX".to_owned(),
                    hint: "export the model that it was made of".to_owned(),
                });
            }
            Encoder::SpanTagger(encoder) => (networks::span_tagger(encoder, &self.beside()), SPAN_TAGGER),
            Encoder::Transformer(_) => {
                return Err(Error::Setting {
                    problem: "the model has a pretrained encoder, which is not written as ONNX".to_owned(),
                    hint: "export a model of the span tagger or the slot-gated tagger".to_owned(),
                });
            }
            #[cfg(feature = "onnx")]
            Encoder::Onnx(_) => {
                return Err(Error::Setting {
                    problem: "the model is an ONNX graph already".to_owned(),
                    hint: "take the graph that it was made of".to_owned(),
                });
            }
        };
        let mut document = serde_json::to_string(&self.onnx_document(architecture))
            .expect("a document of plain data can be written");
        document.push('\n');
        let mut files = vec![(GRAPH, graph), (DOCUMENT, document.into_bytes())];
        if let Some(vectors) = self.features.forms.as_ref().and_then(|forms| forms.vectors.as_ref()) {
            let (pieces, glove) = vectors.bytes();
            files.push((VECTORS, pieces.to_vec()));
            files.extend(glove.map(|glove| (GLOVE, glove.to_vec())));
        }
        Ok(files)
    }

    fn beside(&self) -> Beside<'_> {
        let words = 0..self.features.words.len() as u32;
        Beside {
            outside_penalties: words.map(|word| self.outside_penalty(word) as f32).collect(),
            ngrams: self.features.ngrams.as_ref(),
        }
    }

    /// What stands before the graph and after it.
    fn onnx_document(&self, architecture: &str) -> Value {
        let features = &self.features;
        let mut document = json!({
            "format": "meno-onnx",
            "version": VERSION,
            "program": concat!("meno ", env!("CARGO_PKG_VERSION")),
            "architecture": architecture,
            "max_words": MAX_WORDS,
            "labels": features.labels.names(),
            "intents": features.intents.names(),
            "digits": self.normalizer.settings().digits,
            "vocabulary": features.words.names(),
            "threshold": self.policy.threshold.as_ref().map(|threshold| threshold.value),
        });
        match self.policy.scorer {
            Scorer::Token(score) => document["score"] = json!(Score::name(score)),
            Scorer::Span(score) => {
                document["score"] = json!(score);
                document["doubt"] = json!(self.policy.doubt.map(|doubt| doubt.above));
                document["slots"] = json!(features.labels.paired_slots());
                document["joint_slots"] = json!(self.joint_slots);
            }
        }
        if let Encoder::SpanTagger(encoder) = &self.encoder {
            document["longest_scored"] = json!(encoder.network.heads().longest());
        }
        if let Some(forms) = &features.forms {
            document["characters"] = json!({
                "alphabet": forms.alphabet.characters().iter().collect::<String>(),
                "most": Alphabet::MAX_CHARACTERS,
            });
            let vectors = forms.vectors.as_ref().map(|vectors| vectors.bytes());
            document["vectors"] = json!(vectors.map(|_| VECTORS));
            document["glove"] = json!(vectors.and_then(|(_, glove)| glove).map(|_| GLOVE));
        }
        document["lexicon"] = json!(features.lexicon);
        document["ngrams"] = json!(features.ngrams.as_ref().map(|_| json!({ "buckets": BUCKETS })));
        document
    }
}
