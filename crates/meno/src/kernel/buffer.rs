//! A growable run of floats that starts on a cache line.

use std::ops::{Deref, DerefMut};

#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([f32; 16]);

/// Floats for the kernels: whole cache lines, so that no vector load crosses one.
#[derive(Clone, Default)]
pub struct Buffer(Vec<Line>);

impl Buffer {
    /// At least `n` zeros.
    pub fn zeros(n: usize) -> Self {
        Buffer(vec![Line([0.0; 16]); n.div_ceil(16)])
    }

    /// Makes room for `n` floats; what they hold is left over from before.
    pub(crate) fn reserve(&mut self, n: usize) -> &mut [f32] {
        if self.0.len() * 16 < n {
            self.0.resize(n.div_ceil(16), Line([0.0; 16]));
        }
        &mut self[..n]
    }

    /// Makes room for `n` floats, all zero.
    pub(crate) fn clear(&mut self, n: usize) -> &mut [f32] {
        let floats = self.reserve(n);
        floats.fill(0.0);
        floats
    }
}

impl Deref for Buffer {
    type Target = [f32];
    fn deref(&self) -> &[f32] {
        // SAFETY: a `Line` is 16 floats without padding, and the vector holds that many of them.
        unsafe { std::slice::from_raw_parts(self.0.as_ptr().cast(), self.0.len() * 16) }
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [f32] {
        // SAFETY: as in `deref`.
        unsafe { std::slice::from_raw_parts_mut(self.0.as_mut_ptr().cast(), self.0.len() * 16) }
    }
}
