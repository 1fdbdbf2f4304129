//! Whatever the bytes of an ONNX file: an error or a graph that was built, never a panic. Graphs are not run: one may ask for any
//! amount of memory.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Err(problem) = meno::wrap::try_graph(bytes) {
        assert!(!problem.is_empty());
    }
});
