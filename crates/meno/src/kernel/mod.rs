//! The arithmetic of the encoder, written once for sixteen lanes and compiled for each kind of processor.
//!
//! This is the only module with `unsafe` code. [`Kernels`] is safe: each method checks that every access lies
//! inside the slices and then calls the variant that was chosen once, by what the processor can do.
//!
//! Everything below a variant is inlined into it, because only there is the compiler allowed to use the processor's
//! vectors. Closures, and iterators that take them, would not be: hence the loops over indices.
#![allow(clippy::needless_range_loop)]

mod adam;
mod attention;
mod buffer;
mod calibrate;
mod cell;
mod dirichlet;
mod gelu;
mod gemm;
mod bf16;
mod int8;
mod norm;
mod self_attention;
mod simd;
mod softmax;
#[cfg(test)]
pub(crate) mod tests;
mod vector;

pub(crate) use adam::{Adam, BETA2, StepSize};
pub(crate) use attention::{Attention, AttentionGradient};
pub use bf16::{Bf16Matrix, Bf16Product, round_to_bf16};
pub use buffer::Buffer;
pub(crate) use calibrate::{Calibrate, CalibrateGradient, LEFT};
pub(crate) use cell::{Cell, CellGradient};
pub(crate) use dirichlet::Dirichlets;
pub use gemm::{Gemm, Right, Start, Strided, Term};
pub(crate) use int8::Int8Table;
pub use int8::{Int8Matrix, Int8Product, Int8Rows};
pub(crate) use norm::{Norm, NormGradient};
pub(crate) use self_attention::{SelfAttention, SelfAttentionGradient, SelfAttentionOut};
pub(crate) use vector::{Dots, GateGradient};

/// Floats in a vector; widths inside the encoder are multiples of it.
pub(crate) const LANES: usize = simd::LANES;

/// `n` rounded up to whole vectors.
pub(crate) const fn padded(n: usize) -> usize {
    n.next_multiple_of(LANES)
}

macro_rules! kernels {
    ($($module:ident::$function:ident($($arg:ident: $type:ty),*) $(-> $out:ty)? as $name:ident;)*) => {
        struct Table {
            $($name: unsafe fn($($type),*) $(-> $out)?,)*
        }

        kernels!(@variant portable, PORTABLE, simd::Portable, [], $($module::$function($($arg: $type),*) $(-> $out)? as $name;)*);
        #[cfg(target_arch = "x86_64")]
        kernels!(@variant avx2, AVX2, simd::Avx2, [#[target_feature(enable = "avx2,fma")]], $($module::$function($($arg: $type),*) $(-> $out)? as $name;)*);
        #[cfg(target_arch = "x86_64")]
        kernels!(@variant avx512, AVX512, simd::Avx512, [#[target_feature(enable = "avx512f,avx2,fma")]], $($module::$function($($arg: $type),*) $(-> $out)? as $name;)*);
    };
    (@variant $variant:ident, $table:ident, $simd:ty, $feature:tt, $($module:ident::$function:ident($($arg:ident: $type:ty),*) $(-> $out:ty)? as $name:ident;)*) => {
        mod $variant {
            use super::*;
            $(kernels!(@function $simd, $feature, $module::$function($($arg: $type),*) $(-> $out)? as $name);)*
        }
        static $table: Table = Table { $($name: $variant::$name,)* };
    };
    (@function $simd:ty, [$($feature:tt)*], $module:ident::$function:ident($($arg:ident: $type:ty),*) $(-> $out:ty)? as $name:ident) => {
        $($feature)*
        pub(super) unsafe fn $name($($arg: $type),*) $(-> $out)? {
            // SAFETY: passed on: the caller checked the arguments and the processor.
            unsafe { $module::$function::<$simd>($($arg),*) }
        }
    };
}

kernels! {
    gemm::gemm(gemm: &mut Gemm<'_>) as gemm;
    gemm::gemm_packed(gemm: &mut Gemm<'_>) as gemm_packed;
    gemm::transpose_panels(rows: usize, columns: usize, first: usize, from: &[f32], to: &mut [f32]) as transpose_panels;
    bf16::add_product(x: &[f32], matrix: &Bf16Matrix, y: &mut [f32]) as add_product_bf16;
    bf16::multiply(product: &mut Bf16Product<'_>) as multiply_bf16;
    cell::forward(step: &mut Cell<'_>) as cell;
    cell::backward(step: &mut CellGradient<'_>) as cell_backward;
    attention::exponentials(x: &mut [f32]) as exponentials;
    attention::forward(attention: &Attention<'_>, weights: &mut [f32]) as attention;
    attention::backward(attention: &Attention<'_>, gradient: &mut AttentionGradient<'_>) as attention_backward;
    self_attention::forward(attention: &SelfAttention<'_>, to: &mut SelfAttentionOut<'_>) as self_attention;
    self_attention::backward(attention: &SelfAttention<'_>, gradient: &mut SelfAttentionGradient<'_>) as self_attention_backward;
    norm::forward(norm: &mut Norm<'_>) as norm;
    norm::backward(gradient: &mut NormGradient<'_>) as norm_backward;
    gelu::gelu(x: &mut [f32]) as gelu;
    gelu::with_slope(x: &mut [f32], y: &mut [f32]) as gelu_with_slope;
    softmax::rows(row: usize, x: &mut [f32]) as softmax;
    dirichlet::entropy(rows: &mut Dirichlets<'_>) as dirichlet_entropy;
    calibrate::shares(n_labels: usize, row: usize, logits: &[f32], shares: &mut [f32]) as shares;
    calibrate::forward(rows: &mut Calibrate<'_>) as calibrate;
    calibrate::backward(rows: &mut CalibrateGradient<'_>) as calibrate_backward;
    vector::add_scaled(factor: f32, x: &[f32], y: &mut [f32]) as add_scaled;
    vector::rectify(x: &[f32], y: &mut [f32]) as rectify;
    vector::keep_where_positive(x: &[f32], y: &mut [f32]) as keep_where_positive;
    vector::add_product(x: &[f32], factor: &[f32], y: &mut [f32]) as add_product;
    vector::add(x: &[f32], y: &mut [f32]) as add;
    vector::multiply(x: &[f32], factor: &[f32], y: &mut [f32]) as multiply;
    vector::scale(factor: &[f32], y: &mut [f32]) as scale;
    vector::choose(bytes: &[u8], threshold: f32, factor: f32, out: &mut [f32]) as choose;
    vector::dots(dots: &Dots<'_>, out: &mut [f32], out_row: usize) as dots;
    vector::sum_rows(x: &[f32], row: usize, out: &mut [f32]) as sum_rows;
    vector::multiply_adds(rounds: usize) -> usize as multiply_adds;
    vector::gate(context: &[f32], query: &[f32], vector: &[f32], t: &mut [f32]) -> f32 as gate;
    vector::gate_backward(gradient: &mut GateGradient<'_>) as gate_backward;
    adam::step(state: &mut Adam<'_>, gradient: &[f32], scale: f32, size: StepSize) as adam;
    adam::catch_up(state: &mut Adam<'_>, sizes: &[StepSize]) as adam_catch_up;
    adam::sum_squares(x: &[f32]) -> f32 as sum_squares;
}

/// Which variant of the kernels runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instructions {
    /// Plain Rust, for any processor.
    Portable,
    /// 256-bit vectors with fused multiply-add.
    Avx2,
    /// 512-bit vectors.
    Avx512,
}

impl Instructions {
    /// The fastest that this processor has.
    pub fn best() -> Self {
        Kernels::best().instructions()
    }
}

/// The kernels of one kind of processor.
#[derive(Clone, Copy)]
pub struct Kernels {
    table: &'static Table,
    instructions: Instructions,
    int8: int8::Path,
}

impl std::fmt::Debug for Kernels {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Kernels({:?})", self.instructions)
    }
}

impl Kernels {
    /// The fastest this processor can run.
    pub fn best() -> Self {
        [Instructions::Avx512, Instructions::Avx2]
            .into_iter()
            .find_map(Self::with)
            .unwrap_or(Kernels::new(&PORTABLE, Instructions::Portable))
    }

    /// A stated variant, or `None` if this processor cannot run it.
    pub fn with(instructions: Instructions) -> Option<Self> {
        let table = match instructions {
            Instructions::Portable => &PORTABLE,
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx2 if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") => {
                &AVX2
            }
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx512
                if is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx2")
                    && is_x86_feature_detected!("fma") =>
            {
                &AVX512
            }
            _ => return None,
        };
        Some(Kernels::new(table, instructions))
    }

    fn new(table: &'static Table, instructions: Instructions) -> Self {
        Kernels { table, instructions, int8: int8::Path::within(instructions) }
    }

    /// Which variant this is.
    pub fn instructions(self) -> Instructions {
        self.instructions
    }

    /// Does nothing but multiply-adds and gives their number: the measure of what is possible.
    pub fn multiply_adds(self, rounds: usize) -> usize {
        // SAFETY: `with` checked the processor.
        unsafe { (self.table.multiply_adds)(rounds) }
    }

    /// A matrix product.
    pub fn gemm(self, mut gemm: Gemm<'_>) {
        assert!(gemm.fits(), "matrix product out of bounds");
        let table = self.table;
        let multiply = if gemm.packs() { table.gemm_packed } else { table.gemm };
        // SAFETY: checked above; `with` checked the processor. So for all that follow.
        unsafe { multiply(&mut gemm) }
    }

    /// From some panels of a `rows x columns` matrix, which begin with `first`, to the panels of its transpose.
    pub(crate) fn transpose_panels(
        self,
        rows: usize,
        columns: usize,
        first: usize,
        from: &[f32],
        to: &mut [f32],
    ) {
        assert!(rows > 0 && rows.is_multiple_of(LANES) && columns.is_multiple_of(LANES));
        assert!(from.len().is_multiple_of(rows * LANES) && rows * columns <= to.len());
        assert!(first * LANES + from.len() / rows <= columns);
        // SAFETY: checked above.
        unsafe { (self.table.transpose_panels)(rows, columns, first, from, to) }
    }

    /// `y += x matrix` for one row.
    pub fn add_product_bf16(self, x: &[f32], matrix: &Bf16Matrix, y: &mut [f32]) {
        assert!(matrix.fits(x, y), "matrix product out of bounds");
        // SAFETY: checked above.
        unsafe { (self.table.add_product_bf16)(x, matrix, y) }
    }

    /// A matrix product with weights of 16 bits.
    pub fn multiply_bf16(self, mut product: Bf16Product<'_>) {
        assert!(product.fits(), "matrix product out of bounds");
        // SAFETY: checked above.
        unsafe { (self.table.multiply_bf16)(&mut product) }
    }

    /// Rounds `n` rows of `k` columns, which touch, to 8 bits.
    pub fn quantize_rows(self, n: usize, k: usize, x: Strided<'_>, rows: &mut Int8Rows) {
        assert!(x.column == 1 && k.is_multiple_of(LANES) && (n == 0 || (n - 1) * x.row + k <= x.data.len()));
        rows.reserve(n, k);
        // SAFETY: checked above.
        unsafe { self.int8.quantize(x, rows) }
    }

    /// A matrix product with weights of 8 bits.
    pub fn multiply_int8(self, mut product: Int8Product<'_>) {
        assert!(product.fits(), "matrix product out of bounds");
        // SAFETY: checked above.
        unsafe { self.int8.multiply(&mut product) }
    }

    /// One LSTM time step.
    pub(crate) fn cell(self, mut step: Cell<'_>) {
        assert!(step.fits(), "cell out of bounds");
        // SAFETY: checked above.
        unsafe { (self.table.cell)(&mut step) }
    }

    /// The gradient of one LSTM time step.
    pub(crate) fn cell_backward(self, mut step: CellGradient<'_>) {
        assert!(step.fits(), "cell gradient out of bounds");
        // SAFETY: checked above.
        unsafe { (self.table.cell_backward)(&mut step) }
    }

    /// `x = e^2x`, for keys and queries.
    pub(crate) fn exponentials(self, x: &mut [f32]) {
        assert!(x.len().is_multiple_of(LANES));
        // SAFETY: checked above.
        unsafe { (self.table.exponentials)(x) }
    }

    /// The weights of an additive attention.
    pub(crate) fn attention(self, attention: &Attention<'_>, weights: &mut [f32]) {
        assert!(attention.fits() && attention.queries * attention.weights_row <= weights.len());
        // SAFETY: checked above.
        unsafe { (self.table.attention)(attention, weights) }
    }

    /// The gradient of an additive attention.
    pub(crate) fn attention_backward(self, attention: &Attention<'_>, mut gradient: AttentionGradient<'_>) {
        assert!(attention.fits() && gradient.fits(attention));
        // SAFETY: checked above.
        unsafe { (self.table.attention_backward)(attention, &mut gradient) }
    }

    /// Scaled dot-product attention of an utterance to itself.
    pub(crate) fn self_attention(self, attention: &SelfAttention<'_>, mut to: SelfAttentionOut<'_>) {
        let fits = attention.fits(to.weights, to.scratch) && attention.fits_out(to.out, to.out_row, 1);
        assert!(fits, "attention out of bounds");
        // SAFETY: checked above.
        unsafe { (self.table.self_attention)(attention, &mut to) }
    }

    /// The gradient of such an attention.
    pub(crate) fn self_attention_backward(
        self,
        attention: &SelfAttention<'_>,
        mut gradient: SelfAttentionGradient<'_>,
    ) {
        let g = &gradient;
        let fits = attention.fits(g.weights, g.scratch)
            && attention.fits_out(g.d_out, g.out_row, 1)
            && attention.fits_out(g.d_qkv, attention.qkv_row, 3);
        assert!(fits, "attention gradient out of bounds");
        // SAFETY: checked above.
        unsafe { (self.table.self_attention_backward)(attention, &mut gradient) }
    }

    /// Layer normalisation of a sum.
    pub(crate) fn norm(self, mut norm: Norm<'_>) {
        assert!(norm.fits(), "layer normalisation out of bounds");
        // SAFETY: checked above.
        unsafe { (self.table.norm)(&mut norm) }
    }

    /// The gradient of a layer normalisation.
    pub(crate) fn norm_backward(self, mut gradient: NormGradient<'_>) {
        assert!(gradient.fits(), "gradient of a layer normalisation out of bounds");
        // SAFETY: checked above.
        unsafe { (self.table.norm_backward)(&mut gradient) }
    }

    /// The Gaussian error linear unit of each number, in its place.
    pub(crate) fn gelu(self, x: &mut [f32]) {
        assert!(x.len().is_multiple_of(LANES));
        // SAFETY: checked above.
        unsafe { (self.table.gelu)(x) }
    }

    /// `y = gelu(x)`, and in the place of `x` the slope there.
    pub(crate) fn gelu_with_slope(self, x: &mut [f32], y: &mut [f32]) {
        assert!(x.len() == y.len() && x.len().is_multiple_of(LANES));
        // SAFETY: checked above.
        unsafe { (self.table.gelu_with_slope)(x, y) }
    }

    /// Each row of logits to probabilities.
    pub(crate) fn softmax(self, row: usize, x: &mut [f32]) {
        assert!(row > 0 && row.is_multiple_of(LANES) && x.len().is_multiple_of(row));
        // SAFETY: checked above.
        unsafe { (self.table.softmax)(row, x) }
    }

    /// The entropies of rows of Dirichlet distributions.
    pub(crate) fn dirichlet_entropy(self, mut rows: Dirichlets<'_>) {
        assert!(rows.fits(), "concentrations out of bounds");
        // SAFETY: checked above.
        unsafe { (self.table.dirichlet_entropy)(&mut rows) }
    }

    /// Each label's concentration over the largest of its row, 0 in the padding.
    pub(crate) fn shares(self, n_labels: usize, row: usize, logits: &[f32], shares: &mut [f32]) {
        assert!(row > 0 && row.is_multiple_of(LANES) && n_labels <= row);
        assert!(logits.len() == shares.len() && logits.len().is_multiple_of(row));
        // SAFETY: checked above.
        unsafe { (self.table.shares)(n_labels, row, logits, shares) }
    }

    /// From what is to be taken away to calibrated log concentrations.
    pub(crate) fn calibrate(self, mut rows: Calibrate<'_>) {
        assert!(rows.fits(), "calibration out of bounds");
        // SAFETY: checked above.
        unsafe { (self.table.calibrate)(&mut rows) }
    }

    /// The gradient of a calibration.
    pub(crate) fn calibrate_backward(self, mut rows: CalibrateGradient<'_>) {
        assert!(rows.fits(), "calibration gradient out of bounds");
        // SAFETY: checked above.
        unsafe { (self.table.calibrate_backward)(&mut rows) }
    }

    /// `y += factor * x`
    pub(crate) fn add_scaled(self, factor: f32, x: &[f32], y: &mut [f32]) {
        assert!(x.len() == y.len() && x.len().is_multiple_of(LANES));
        // SAFETY: checked above.
        unsafe { (self.table.add_scaled)(factor, x, y) }
    }

    /// `y = max(x, 0)`
    pub(crate) fn rectify(self, x: &[f32], y: &mut [f32]) {
        assert!(x.len() == y.len() && x.len().is_multiple_of(LANES));
        // SAFETY: checked above.
        unsafe { (self.table.rectify)(x, y) }
    }

    /// `y = 0` where `x` is not positive.
    pub(crate) fn keep_where_positive(self, x: &[f32], y: &mut [f32]) {
        assert!(x.len() == y.len() && x.len().is_multiple_of(LANES));
        // SAFETY: checked above.
        unsafe { (self.table.keep_where_positive)(x, y) }
    }

    /// `y += x * factor`
    pub(crate) fn add_product(self, x: &[f32], factor: &[f32], y: &mut [f32]) {
        assert!(x.len() == y.len() && x.len() == factor.len() && x.len().is_multiple_of(LANES));
        // SAFETY: checked above.
        unsafe { (self.table.add_product)(x, factor, y) }
    }

    /// `y += x`
    pub(crate) fn add(self, x: &[f32], y: &mut [f32]) {
        assert!(x.len() == y.len() && x.len().is_multiple_of(LANES));
        // SAFETY: checked above.
        unsafe { (self.table.add)(x, y) }
    }

    /// `y = x * factor`
    pub(crate) fn multiply(self, x: &[f32], factor: &[f32], y: &mut [f32]) {
        assert!(x.len() == y.len() && x.len() == factor.len() && x.len().is_multiple_of(LANES));
        // SAFETY: checked above.
        unsafe { (self.table.multiply)(x, factor, y) }
    }

    /// `y *= factor`
    pub(crate) fn scale(self, factor: &[f32], y: &mut [f32]) {
        assert!(y.len() == factor.len() && y.len().is_multiple_of(LANES));
        // SAFETY: checked above.
        unsafe { (self.table.scale)(factor, y) }
    }

    /// `out = factor` where the byte is below the threshold, a whole number, else 0.
    pub(crate) fn choose(self, bytes: &[u8], threshold: f32, factor: f32, out: &mut [f32]) {
        assert!(bytes.len() == out.len() && out.len().is_multiple_of(LANES));
        // SAFETY: checked above.
        unsafe { (self.table.choose)(bytes, threshold, factor, out) }
    }

    /// The dot products of the rows of two matrices.
    pub(crate) fn dots(self, dots: &Dots<'_>, out: &mut [f32], out_row: usize) {
        assert!(dots.fits(out, out_row));
        // SAFETY: checked above.
        unsafe { (self.table.dots)(dots, out, out_row) }
    }

    /// `out += ` the sum of the rows of `x`, which are `row` apart.
    pub(crate) fn sum_rows(self, x: &[f32], row: usize, out: &mut [f32]) {
        assert!(row >= out.len() && out.len().is_multiple_of(LANES) && row > 0);
        // SAFETY: checked above.
        unsafe { (self.table.sum_rows)(x, row, out) }
    }

    /// `t = tanh(context + query)`; gives `vector . t`.
    pub(crate) fn gate(self, context: &[f32], query: &[f32], vector: &[f32], t: &mut [f32]) -> f32 {
        let n = t.len();
        assert!(n == context.len() && n == query.len() && n == vector.len() && n.is_multiple_of(LANES));
        // SAFETY: checked above.
        unsafe { (self.table.gate)(context, query, vector, t) }
    }

    /// The gradient of a gate.
    pub(crate) fn gate_backward(self, mut g: GateGradient<'_>) {
        let n = g.context.len();
        let same = [
            g.tanh.len(),
            g.vector.len(),
            g.d_gated.len(),
            g.d_context.len(),
            g.d_query.len(),
            g.d_vector.len(),
        ];
        assert!(n.is_multiple_of(LANES) && same.iter().all(|&len| len == n));
        // SAFETY: checked above.
        unsafe { (self.table.gate_backward)(&mut g) }
    }

    /// One step of Adam.
    pub(crate) fn adam(self, mut state: Adam<'_>, gradient: &[f32], scale: f32, size: StepSize) {
        assert!(state.fits() && gradient.len() == state.parameters.len());
        // SAFETY: checked above.
        unsafe { (self.table.adam)(&mut state, gradient, scale, size) }
    }

    /// The steps of Adam that a row without gradient missed.
    pub(crate) fn adam_catch_up(self, mut state: Adam<'_>, sizes: &[StepSize]) {
        assert!(state.fits());
        // SAFETY: checked above.
        unsafe { (self.table.adam_catch_up)(&mut state, sizes) }
    }

    /// The sum of the squares.
    pub(crate) fn sum_squares(self, x: &[f32]) -> f32 {
        assert!(x.len().is_multiple_of(LANES));
        // SAFETY: checked above.
        unsafe { (self.table.sum_squares)(x) }
    }
}
