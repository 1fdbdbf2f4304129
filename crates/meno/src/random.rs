//! The random numbers of the whole project: SplitMix64, written here so that a seed gives the same bytes for ever.

/// A seeded stream of random numbers.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The stream of `seed`.
    pub fn new(seed: u64) -> Self {
        Random(seed)
    }

    /// An independent stream for one part of the work (an epoch, a shard), so that the order in which parts run does not matter.
    pub fn fork(&self, part: u64) -> Self {
        let mut fork = Random(self.0 ^ part.wrapping_mul(0xD6E8_FEB8_6659_FD93));
        Random(fork.next_u64())
    }

    /// The next 64 random bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number in `[0, 1)`.
    #[inline]
    pub fn uniform(&mut self) -> f32 {
        (self.next_u64() >> 40) as f32 / (1u64 << 24) as f32
    }

    /// A number in `0..n`; `n` must not be 0.
    #[inline]
    pub fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.next_u64()) * n as u128) >> 64) as usize
    }

    /// Normally distributed with mean 0 and variance 1 (Box and Muller).
    pub fn normal(&mut self) -> f32 {
        let (radius, angle) = (1.0 - self.uniform(), self.uniform());
        (-2.0 * radius.ln()).sqrt() * (std::f32::consts::TAU * angle).cos()
    }

    /// Puts `items` into random order.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normal_numbers_have_the_moments_of_the_distribution() {
        let mut random = Random::new(3);
        let numbers: Vec<f64> = (0..100_000).map(|_| f64::from(random.normal())).collect();
        let moment = |k: i32| numbers.iter().map(|x| x.powi(k)).sum::<f64>() / numbers.len() as f64;
        // Standard errors: 0.003, 0.0045, 0.012, 0.031.
        for (k, expected, allowed) in [(1, 0.0, 0.015), (2, 1.0, 0.02), (3, 0.0, 0.05), (4, 3.0, 0.13)] {
            assert!((moment(k) - expected).abs() < allowed, "moment {k}: {}", moment(k));
        }
    }

    #[test]
    fn splitmix64_reference_values() {
        // The first outputs of the reference implementation (Vigna, splitmix64.c) for the seed 1234567.
        let mut random = Random::new(1_234_567);
        let first: Vec<u64> = (0..3).map(|_| random.next_u64()).collect();
        assert_eq!(first, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }

    #[test]
    fn shuffle_keeps_every_item() {
        let mut items: Vec<usize> = (0..100).collect();
        Random::new(7).shuffle(&mut items);
        assert_ne!(items, (0..100).collect::<Vec<_>>());
        items.sort_unstable();
        assert_eq!(items, (0..100).collect::<Vec<_>>());
    }
}
