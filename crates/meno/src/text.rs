//! From text as people type it to words, with byte offsets into the original.
