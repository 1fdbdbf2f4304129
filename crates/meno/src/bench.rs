//! What `benches/speed.rs` runs by itself and no user needs: parts of the slot-gated tagger and of its training.

pub use crate::encoder::{SlotGated, SlotGatedShape, Workspace};
pub use crate::features::{Example, Features, first_intent};
pub use crate::kernel::Kernels;
pub use crate::math::largest;
pub use crate::nn::{Network, Trainer};
pub use crate::train::slot_gated::SlotGatedTask;
