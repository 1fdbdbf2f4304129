//! Names, one a line of a text that stays where it lies, and the number of each.

use std::sync::Arc;

/// Which line has a name: a hash table of line numbers, which is filled in a millisecond where a map of strings takes ten.
#[derive(Clone, Debug)]
pub(super) struct Lines {
    text: &'static [u8],
    /// Where each line begins, and one past the end of the text.
    starts: Arc<[u32]>,
    /// One more than the number of a line, or 0; a power of two of them, and at least half are 0.
    slots: Arc<[u32]>,
}

impl Lines {
    /// The lines of a text; `None` if it is too long to be believed.
    pub(super) fn new(text: &'static [u8]) -> Option<Lines> {
        if text.len() >= u32::MAX as usize {
            return None;
        }
        let n_lines = text.iter().filter(|&&byte| byte == b'\n').count() + 1;
        let mut starts = Vec::with_capacity(n_lines + 1);
        let mut slots = vec![0; (2 * n_lines).next_power_of_two()];
        let mut key = START;
        starts.push(0);
        for (at, &byte) in text.iter().chain(b"\n").enumerate() {
            if byte != b'\n' {
                key = add(key, byte);
                continue;
            }
            starts.push(at as u32 + 1);
            let line = starts.len() as u32 - 2;
            let slot = slot(text, &starts, &slots, key, name(text, &starts, line));
            slots[slot] = line + 1;
            key = START;
        }
        Some(Lines { text, starts: starts.into(), slots: slots.into() })
    }

    /// How many lines there are.
    pub(super) fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// The number of the line with a name; the last if there are several.
    pub(super) fn find(&self, name: &str) -> Option<u32> {
        let key = name.bytes().fold(START, add);
        self.slots[slot(self.text, &self.starts, &self.slots, key, name.as_bytes())].checked_sub(1)
    }
}

fn name<'t>(text: &'t [u8], starts: &[u32], line: u32) -> &'t [u8] {
    let line = line as usize;
    &text[starts[line] as usize..starts[line + 1] as usize - 1]
}

/// Where a name with a key is, or where there is room for it.
fn slot(text: &[u8], starts: &[u32], slots: &[u32], key: u64, wanted: &[u8]) -> usize {
    let mask = slots.len() - 1;
    // The upper bits are folded into the lower ones.
    let mut slot = (key ^ (key >> 32)) as usize & mask;
    while slots[slot] != 0 && name(text, starts, slots[slot] - 1) != wanted {
        slot = (slot + 1) & mask;
    }
    slot
}

/// FNV-1a, of 64 bits.
const START: u64 = 0xCBF2_9CE4_8422_2325;

fn add(key: u64, byte: u8) -> u64 {
    (key ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_found_and_nothing_else() {
        let names: Vec<String> = (0..5000).map(|i| format!("{}ü{i}", "x".repeat(i % 7))).collect();
        let lines = Lines::new(names.join("\n").into_bytes().leak()).unwrap();
        assert_eq!(lines.len(), names.len());
        for (line, name) in (0..).zip(&names) {
            assert_eq!(lines.find(name), Some(line), "{name}");
            assert_eq!(lines.find(&format!("{name}y")), None, "{name}");
        }
        assert_eq!(lines.find(""), None);
        assert_eq!(Lines::new(b"").unwrap().find(""), Some(0));
        assert_eq!(Lines::new(b"a\n\nb\na").unwrap().find("a"), Some(3));
    }
}
