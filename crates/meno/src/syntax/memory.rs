//! What the words seen before give to the gates of the first layer.
//!
//! The gates are linear in the rows of a word, so the part of a word and the part of its shape and place can be added
//! up after the product with the matrix as well as before, and each needs to be computed once. Utterances repeat their
//! words: after the first few, reading a word is looking it up.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use super::lexicon::{Identity, NO_ROW, Reader};
use super::model::Model;
use crate::kernel::{Buffer, Gemm, Kernels, LANES, Right, Start, Strided, Term};

/// Words remembered at most; then it begins anew. A word takes about a kilobyte.
const MOST_WORDS: usize = 4096;
/// Words of more bytes are not remembered: they take room and do not come again.
const LONGEST: usize = 64;

/// The parts of gates that are known already. It belongs to one model.
#[derive(Default)]
pub(crate) struct Memory {
    reader: Reader,
    words: HashMap<Box<str>, usize, BuildHasherDefault<Fnv>>,
    /// For each word its shape, after a place for words that are not remembered.
    shapes: Vec<u64>,
    word_gates: Buffer,
    places: HashMap<u64, usize, BuildHasherDefault<Identity>>,
    place_gates: Buffer,
    x: Buffer,
}

impl Memory {
    /// The gates of each word of a sentence before the first layer, in rows `row` apart.
    pub(super) fn gates<S: AsRef<str>>(
        &mut self,
        model: &Model,
        kernels: Kernels,
        words: &[S],
        gates: &mut [f32],
        row: usize,
    ) {
        let is_cased = words.iter().any(|word| word.as_ref().chars().any(char::is_uppercase));
        let width = model.network.lstm[0].input().weight.width();
        for (idx, word) in words.iter().enumerate() {
            let to = &mut gates[idx * row..][..width];
            let known = match self.words.get(word.as_ref()) {
                Some(&known) => known,
                None => self.learn_word(model, kernels, word.as_ref()),
            };
            to.copy_from_slice(&self.word_gates[known * width..][..width]);
            let key = Reader::place_key(self.shapes[known], is_cased, idx == 0);
            let known = match self.places.get(&key) {
                Some(&known) => known,
                None => self.learn_place(model, kernels, key),
            };
            super::network::add(to, &self.place_gates[known * width..][..width]);
        }
    }

    fn learn_word(&mut self, model: &Model, kernels: Kernels, word: &str) -> usize {
        if self.words.len() == MOST_WORDS {
            self.words.clear();
            self.shapes.clear();
        }
        self.shapes.resize(self.words.len() + 1, 0);
        let (keys, shape) = self.reader.word(word);
        let x = self.x.clear(model.network.shape.embedding);
        for row in model.lexicon.rows(&keys).into_iter().filter(|&row| row != NO_ROW) {
            model.embedding.add(row as usize, x);
        }
        let known = if word.len() > LONGEST { 0 } else { self.shapes.len() };
        if known > 0 {
            self.shapes.push(shape);
            self.words.insert(word.into(), known);
        } else {
            self.shapes[0] = shape;
        }
        project(model, kernels, &self.x, Start::Zero, known, &mut self.word_gates);
        known
    }

    fn learn_place(&mut self, model: &Model, kernels: Kernels, key: u64) -> usize {
        let x = self.x.clear(model.network.shape.embedding);
        if let Some(row) = model.lexicon.row(key) {
            model.embedding.add(row as usize, x);
        }
        let known = self.places.len();
        self.places.insert(key, known);
        let bias = model.network.lstm[0].input().bias.expect("a layer has a bias");
        let start = Start::Row(bias.of(&model.parameters));
        project(model, kernels, &self.x, start, known, &mut self.place_gates);
        known
    }
}

/// The product of `x` with the matrix of the first layer, as a row of `gates`.
fn project(model: &Model, kernels: Kernels, x: &[f32], start: Start<'_>, row: usize, gates: &mut Buffer) {
    let weight = model.network.lstm[0].input().weight;
    let (k, n) = (weight.rows(), weight.width());
    gates.reserve((row + 1) * n);
    let terms = [Term {
        k,
        a: Strided { data: x, row: k, column: 1 },
        b: Right::Panels(weight.of(&model.parameters)),
    }];
    kernels.gemm(Gemm { m: 1, n, terms: &terms, start, c: &mut gates[row * n..], c_row: n, c_panel: LANES });
}

/// FNV-1a: words are short.
pub(crate) struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Fnv(0xCBF2_9CE4_8422_2325)
    }
}

impl Hasher for Fnv {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3);
        }
    }

    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 29)
    }
}
