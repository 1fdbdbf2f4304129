//! What words mean by the company they keep: GloVe vectors of whole words, compressed by product quantisation.
//!
//! A vector is cut into parts, and of each part the number of one of 256 centroids is kept. Words are found by a 32-bit key, so
//! that nothing has to be read before the first of them is looked up. `scripts/glove.py` makes the table.

use safetensors::SafeTensors;

use super::lexicon::word_key;

/// A table of words, where it lies.
#[derive(Clone, Copy, Debug)]
pub(super) struct Glove {
    /// What it was read from.
    pub(super) bytes: &'static [u8],
    /// The keys of the words ([`word_key`]), four bytes each, in rising order.
    keys: &'static [u8],
    /// For each word a byte for each part.
    codes: &'static [u8],
    n_parts: usize,
    /// For each part 256 rows of signed bytes.
    centroids: &'static [u8],
    part: usize,
}

/// How many centroids a part has.
const N_CENTROIDS: usize = 256;
/// What a byte of a centroid is worth: vectors are as long as those of pieces.
const SCALE: f32 = super::vectors::LENGTH * 0.45 / 127.0;

impl Glove {
    /// Reads the bytes of a table; says what is wrong with them.
    pub(super) fn parse(bytes: &'static [u8]) -> Result<Glove, String> {
        let tensors = SafeTensors::deserialize(bytes).map_err(|_| "not a table of GloVe vectors")?;
        let tensor = |name: &str| {
            tensors.tensor(name).map_err(|_| format!("damaged table of GloVe vectors: no table {name:?}"))
        };
        let (keys, codes, centroids) = (tensor("keys")?, tensor("codes")?, tensor("centroids")?);
        match (keys.shape(), codes.shape(), centroids.shape()) {
            (&[n_words], &[n_codes, n_parts], &[n_centroids, part])
                if n_words == n_codes
                    && n_parts.checked_mul(N_CENTROIDS) == Some(n_centroids)
                    && n_words.checked_mul(4) == Some(keys.data().len())
                    && n_codes.checked_mul(n_parts) == Some(codes.data().len())
                    && n_centroids.checked_mul(part) == Some(centroids.data().len()) =>
            {
                let (keys, codes, centroids) = (keys.data(), codes.data(), centroids.data());
                Ok(Glove { bytes, keys, codes, n_parts, centroids, part })
            }
            _ => Err("damaged table of GloVe vectors: words and centroids do not fit".to_owned()),
        }
    }

    /// How many numbers a vector has: those of the parts, and whether the word is known.
    pub(super) fn width(&self) -> usize {
        self.n_parts * self.part + 1
    }

    /// Adds the vector of a word, zero if it is not known.
    pub(super) fn extend(&self, word: &str, vector: &mut Vec<f32>) {
        let Some(row) = self.find(word_key(word)) else {
            vector.resize(vector.len() + self.width(), 0.0);
            return;
        };
        let codes = &self.codes[row * self.n_parts..][..self.n_parts];
        for (i, &code) in codes.iter().enumerate() {
            let centroid = &self.centroids[(i * N_CENTROIDS + usize::from(code)) * self.part..][..self.part];
            vector.extend(centroid.iter().map(|&byte| f32::from(byte as i8) * SCALE));
        }
        vector.push(1.0);
    }

    fn find(&self, key: u32) -> Option<usize> {
        let (keys, _) = self.keys.as_chunks::<4>();
        keys.binary_search_by_key(&key, |&bytes| u32::from_le_bytes(bytes)).ok()
    }
}

#[cfg(all(test, feature = "english"))]
mod tests {
    use super::*;

    fn vector(word: &str) -> Vec<f32> {
        let mut vector = Vec::new();
        Glove::parse(meno_english::GLOVE).unwrap().extend(word, &mut vector);
        vector
    }

    /// Of the vectors without what says whether the word is known.
    fn cosine(a: &str, b: &str) -> f32 {
        let [a, b] = [vector(a), vector(b)];
        let product =
            |a: &[f32], b: &[f32]| a.iter().zip(b).take(a.len() - 1).map(|(a, b)| a * b).sum::<f32>();
        product(&a, &b) / (product(&a, &a) * product(&b, &b)).sqrt()
    }

    #[test]
    fn a_word_has_the_centroids_that_its_codes_name() {
        // Read from the file by numpy.
        let bytes = [-127, -27, -4, 2, 0, -25, 26, 1, -5, -2].map(|byte: i8| f32::from(byte) * SCALE);
        let london = vector("london");
        assert_eq!((london.len(), &london[..10], london[95]), (96, &bytes[..], 1.0));
        assert!(vector("qwxzzyk").iter().all(|&x| x == 0.0) && vector("").len() == 96);
    }

    #[test]
    fn words_are_as_alike_as_in_the_vectors_before_compression() {
        // Of those, of unit length and without their mean, by numpy.
        for (a, b, cosine_before) in [
            ("monday", "friday", 0.994),
            ("london", "paris", 0.793),
            ("beatles", "lennon", 0.782),
            ("pizzeria", "restaurant", 0.635),
            ("beatles", "asphalt", 0.197),
            ("smithville", "drummer", -0.039),
        ] {
            let cosine = cosine(a, b);
            assert!((cosine - cosine_before).abs() < 0.1, "{a}, {b}: {cosine}, not {cosine_before}");
        }
    }

    #[test]
    fn a_damaged_table_is_refused() {
        let whole = meno_english::GLOVE;
        let n_header = u64::from_le_bytes(whole[..8].try_into().unwrap()) as usize;
        let header = std::str::from_utf8(&whole[8..8 + n_header]).unwrap();
        let with = |header: &str| [&whole[..8], header.as_bytes(), &whole[8 + n_header..]].concat();
        let n_words = Glove::parse(whole).unwrap().keys.len() / 4;
        for (bytes, problem) in [
            (whole[..whole.len() - 1].to_vec(), "not a table of GloVe vectors"),
            (
                with(&header.replace("\"codes\"", "\"kodes\"")),
                "damaged table of GloVe vectors: no table \"codes\"",
            ),
            (
                with(&header.replace(&format!("[{n_words},19]"), &format!("[19,{n_words}]"))),
                "damaged table of GloVe vectors: words and centroids do not fit",
            ),
        ] {
            assert_eq!(Glove::parse(bytes.leak()).unwrap_err(), problem);
        }
    }
}
