//! Frozen word vectors, for words that a corpus lacks.
//!
//! A word is cut into as few pieces as possible; the first part of its vector is the mean of theirs, longer pieces
//! counting more, stretched to one length. The second part is that of its cluster, of words that stand in like places. Then
//! it says how often the word is capitalised, how frequent it is, and whether that is known.
//! `scripts/word_vectors.py` makes the table. Since [`ENGLISH_2`] what the word means follows ([`Glove`]).

use std::path::Path;

use safetensors::SafeTensors;

use super::glove::Glove;
use super::lines::Lines;
use crate::{Error, Result};

/// What is known of words before any training. Clones share what is large.
#[derive(Clone, Debug)]
pub struct Vectors {
    /// What it was read from.
    bytes: &'static [u8],
    width: usize,
    /// Pieces that begin a word have a space before them.
    pieces: Lines,
    rows: &'static [u8],
    cluster_width: usize,
    words: Lines,
    /// For each word four bytes: the number of its cluster, the share of capitals, the frequency.
    facts: &'static [u8],
    clusters: &'static [u8],
    glove: Option<Glove>,
}

/// The names by which models refer to the vectors: without [`Glove`] and with it.
const ENGLISH_1: &str = "english.v1";
const ENGLISH_2: &str = "english.v2";

/// Numbers of a vector after those of pieces and cluster, on the word as it is written.
const N_FACTS: usize = 4;

/// The length of all vectors of pieces.
pub(super) const LENGTH: f32 = 4.0;
/// No piece has more bytes than this, and no word is looked at further than that.
const MAX_PIECE: usize = 20;
const MAX_WORD: usize = 40;
/// How much the clusters count in how alike words are.
const CLUSTER_SHARE: f32 = 0.2;
/// What a byte of a cluster's vector is worth.
const CLUSTER_SCALE: f32 = 2.0 * 0.45 / 127.0;

impl Vectors {
    /// The vectors of English words that come with the program.
    #[cfg(feature = "english")]
    pub fn english() -> &'static Vectors {
        static VECTORS: std::sync::OnceLock<Vectors> = std::sync::OnceLock::new();
        VECTORS.get_or_init(|| {
            let vectors = Vectors::parse(meno_english::VECTORS);
            let glove = Glove::parse(meno_english::GLOVE);
            let whole = "the tables that are built in are whole";
            Vectors { glove: Some(glove.expect(whole)), ..vectors.expect(whole) }
        })
    }

    /// The vectors of English words, where they are built in.
    pub(crate) fn built_in() -> Option<&'static Vectors> {
        #[cfg(feature = "english")]
        return Some(Vectors::english());
        #[cfg(not(feature = "english"))]
        None
    }

    /// Reads the bytes of a table, `english.vectors` of the crate `meno-english`; `path` is only for messages.
    ///
    /// The table is looked up where it lies, and so has to stay there: it is part of the program (`include_bytes!`) or was
    /// read once and leaked ([`Vec::leak`]).
    pub fn from_bytes(bytes: &'static [u8], path: &Path) -> Result<Vectors> {
        Vectors::parse(bytes).map_err(|problem| Error::Model { path: path.to_owned(), problem })
    }

    /// Adds the bytes of a table of GloVe vectors, `english.glove` of the crate `meno-english`, which stay where they are too.
    pub fn with_glove(self, bytes: &'static [u8], path: &Path) -> Result<Vectors> {
        let glove = Glove::parse(bytes).map_err(|problem| Error::Model { path: path.to_owned(), problem })?;
        Ok(Vectors { glove: Some(glove), ..self })
    }

    /// The name by which a model refers to them.
    pub(crate) fn name(&self) -> &'static str {
        if self.glove.is_some() { ENGLISH_2 } else { ENGLISH_1 }
    }

    /// The vectors that a model refers to by a name, where these are such or have more; says what is missing.
    pub(crate) fn named(&self, name: &str) -> Result<Vectors, String> {
        match name {
            ENGLISH_1 => Ok(Vectors { glove: None, ..self.clone() }),
            ENGLISH_2 if self.glove.is_some() => Ok(self.clone()),
            ENGLISH_2 => {
                Err("it needs the GloVe vectors of English words (`Vectors::with_glove`)".to_owned())
            }
            _ => Err(format!(
                "unknown word vectors {name:?}; this program has {ENGLISH_1:?} and {ENGLISH_2:?}"
            )),
        }
    }

    fn parse(bytes: &'static [u8]) -> Result<Vectors, String> {
        let tensors = SafeTensors::deserialize(bytes).map_err(|_| "not a table of word vectors")?;
        let ((width, rows), (cluster_width, clusters)) =
            (columns(&tensors, "vectors")?, columns(&tensors, "clusters")?);
        let (pieces, words) = (names(&tensors, "pieces")?, names(&tensors, "words")?);
        let (n_facts, facts) = columns(&tensors, "facts")?;
        let vectors =
            Vectors { bytes, width, pieces, rows, cluster_width, words, facts, clusters, glove: None };
        match n_facts == N_FACTS && vectors.is_whole() {
            true => Ok(vectors),
            false => Err("damaged table of word vectors: pieces, words and clusters do not fit".to_owned()),
        }
    }

    /// Whether each piece has a row, and each word its facts and a cluster.
    fn is_whole(&self) -> bool {
        let n_clusters = self.clusters.len() / self.cluster_width.max(1);
        let is_there = |facts: &[u8]| usize::from(u16::from_le_bytes([facts[0], facts[1]])) < n_clusters;
        self.rows.len() >= self.pieces.len() * self.width
            && self.facts.len() >= self.words.len() * N_FACTS
            && self.facts.chunks_exact(N_FACTS).all(is_there)
    }

    /// The bytes of the table of pieces and clusters, and those of the GloVe vectors where there are any.
    pub(crate) fn bytes(&self) -> (&'static [u8], Option<&'static [u8]>) {
        (self.bytes, self.glove.map(|glove| glove.bytes))
    }

    /// How many numbers a vector has.
    pub fn width(&self) -> usize {
        self.plain_width() + self.glove.as_ref().map_or(0, Glove::width)
    }

    /// The same without what words mean.
    fn plain_width(&self) -> usize {
        self.width + self.cluster_width + N_FACTS
    }

    /// The vector of a word; zero if none of its letters is known.
    pub fn vector(&self, word: &str) -> Vec<f32> {
        let mut sum = vec![0.0; self.width];
        for (piece, n_letters) in self.cut(word) {
            let row = &self.rows[piece as usize * self.width..][..self.width];
            let weight = n_letters as f32;
            sum.iter_mut().zip(row).for_each(|(sum, &byte)| *sum += weight * f32::from(byte as i8));
        }
        let length = sum.iter().map(|x| x * x).sum::<f32>().sqrt();
        if length > 0.0 {
            sum.iter_mut().for_each(|x| *x *= LENGTH / length);
        }
        self.facts(word, &mut sum);
        if let Some(glove) = &self.glove {
            glove.extend(word, &mut sum);
        }
        sum
    }

    /// How alike two words are that the table knows, by their pieces and by the places that they stand in: 1 is the same.
    pub(crate) fn likeness(&self, word: &str, other: &str) -> Option<f32> {
        let vector = |word: &str| self.words.find(word).map(|_| self.vector(word));
        let (a, b) = (vector(word)?, vector(other)?);
        let cosine = |range: std::ops::Range<usize>| {
            let (a, b) = (&a[range.clone()], &b[range]);
            let length = |x: &[f32]| x.iter().map(|x| x * x).sum::<f32>().sqrt();
            let product: f32 = a.iter().zip(b).map(|(a, b)| a * b).sum();
            product / (length(a) * length(b)).max(f32::MIN_POSITIVE)
        };
        let (pieces, clusters) = (0..self.width, self.width..self.width + self.cluster_width);
        Some((1.0 - CLUSTER_SHARE) * cosine(pieces) + CLUSTER_SHARE * cosine(clusters))
    }

    /// The share of capitals that a word begins with, if it is known.
    pub(crate) fn capitals(&self, word: &str) -> Option<f32> {
        self.words.find(word).map(|word| f32::from(self.facts[word as usize * N_FACTS + 2]) / 255.0)
    }

    /// How frequent a word in lower case is, on a logarithmic scale of which the most frequent has 255, if it is known.
    pub(crate) fn frequency(&self, word: &str) -> Option<u8> {
        self.words.find(word).map(|word| self.facts[word as usize * N_FACTS + 3])
    }

    /// Adds what is known of the whole word.
    fn facts(&self, word: &str, vector: &mut Vec<f32>) {
        let Some(word) = self.words.find(word) else {
            vector.resize(self.plain_width(), 0.0);
            return;
        };
        let [low, high, capitals, frequency] =
            std::array::from_fn(|i| self.facts[word as usize * N_FACTS + i]);
        let cluster = usize::from(u16::from_le_bytes([low, high]));
        let row = &self.clusters[cluster * self.cluster_width..][..self.cluster_width];
        vector.extend(row.iter().map(|&byte| f32::from(byte as i8) * CLUSTER_SCALE));
        let share = |byte: u8| f32::from(byte) / 127.5 - 1.0;
        vector.extend([share(capitals), share(frequency), 1.0, f32::from(u8::from(cluster > 0))]);
    }

    /// The fewest pieces that make up a word, from the last to the first, with the number of their bytes; letters in no
    /// piece are left out.
    fn cut(&self, word: &str) -> Vec<(u32, usize)> {
        let spaced: String = std::iter::once(' ').chain(word.chars().flat_map(char::to_lowercase)).collect();
        let ends: Vec<usize> = spaced
            .char_indices()
            .map(|(i, c)| i + c.len_utf8())
            .filter(|&end| end <= MAX_WORD)
            .skip(1)
            .collect();
        // For each byte that ends a letter the fewest pieces up to it, the last of them and where it begins.
        let mut best = [(0, None, 0); MAX_WORD + 1];
        best[1].0 = 1;
        for (i, &end) in ends.iter().enumerate() {
            let before = if i == 0 { 1 } else { ends[i - 1] };
            let mut choice = (best[before].0 + 2, None, before);
            for start in
                [0].into_iter().chain(ends[..i].iter().copied()).filter(|start| end - start <= MAX_PIECE)
            {
                if best[start].0 + 1 < choice.0
                    && let Some(piece) = self.pieces.find(&spaced[start..end])
                {
                    choice = (best[start].0 + 1, Some(piece), start);
                }
            }
            best[end] = choice;
        }
        let mut pieces = Vec::new();
        let mut end = ends.last().copied().unwrap_or(0);
        while end > 1 {
            let (_, piece, start) = best[end];
            pieces.extend(piece.map(|piece| (piece, end - start)));
            end = start;
        }
        pieces
    }
}

/// A table of bytes and how many of them a row has.
fn columns(tensors: &SafeTensors<'static>, name: &str) -> Result<(usize, &'static [u8]), String> {
    let damaged = || format!("damaged table of word vectors: no table {name:?}");
    let tensor = tensors.tensor(name).map_err(|_| damaged())?;
    let [_, width] = *tensor.shape() else { return Err(damaged()) };
    Ok((width, tensor.data()))
}

/// Names, one a line.
fn names(tensors: &SafeTensors<'static>, name: &str) -> Result<Lines, String> {
    let tensor = tensors.tensor(name).ok();
    let lines = tensor.and_then(|tensor| Lines::new(tensor.data()));
    lines.ok_or_else(|| format!("damaged table of word vectors: no names {name:?}"))
}

#[cfg(all(test, feature = "english"))]
mod tests {
    use super::*;

    fn cosine(a: &str, b: &str) -> f32 {
        let vectors = Vectors::english();
        let [a, b] = [a, b].map(|word| vectors.vector(word)[..vectors.width].to_vec());
        a.iter().zip(&b).map(|(a, b)| a * b).sum::<f32>() / (LENGTH * LENGTH)
    }

    #[test]
    fn like_words_have_like_vectors() {
        for (word, like, unlike) in [
            ("monday", "friday", "banana"),
            ("london", "paris", "quickly"),
            ("song", "songs", "airport"),
            ("kathmandu", "kathmandu", "the"),
        ] {
            let (near, far) = (cosine(word, like), cosine(word, unlike));
            assert!(near > far + 0.1, "{word}: {like} {near}, {unlike} {far}");
        }
    }

    #[test]
    fn every_word_has_a_vector_of_one_length_or_none() {
        for word in ["", " ", "x", "日本", "'", "ﬀ", "don't", "Ünïcode", &"ab".repeat(100)] {
            let vector = Vectors::english().vector(word);
            let pieces = &vector[..Vectors::english().width];
            let length = pieces.iter().map(|x| x * x).sum::<f32>().sqrt();
            assert_eq!(vector.len(), Vectors::english().width(), "{word:?}");
            assert!(length == 0.0 || (length - LENGTH).abs() < 1e-3, "{word:?}: {length}");
        }
    }

    #[test]
    fn names_are_told_by_their_capitals() {
        let capitals = |word: &str| {
            let vector = Vectors::english().vector(word);
            vector[Vectors::english().plain_width() - N_FACTS]
        };
        for name in ["chicago", "beatles", "tolkien"] {
            assert!(capitals(name) > 0.5, "{name}");
        }
        for word in ["the", "song", "versions"] {
            assert!(capitals(word) < -0.5, "{word}");
        }
    }
}
