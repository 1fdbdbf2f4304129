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
        let ends = text.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(end, _)| end as u32);
        let starts: Arc<[u32]> =
            std::iter::once(0).chain(ends.map(|end| end + 1)).chain([text.len() as u32 + 1]).collect();
        let n_lines = starts.len() - 1;
        let mut lines = Lines { text, starts, slots: Arc::default() };
        let mut slots = vec![0; (2 * n_lines).next_power_of_two()];
        for line in 0..n_lines as u32 {
            let slot = lines.slot(&slots, lines.name(line));
            slots[slot] = line + 1;
        }
        lines.slots = slots.into();
        Some(lines)
    }

    /// How many lines there are.
    pub(super) fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// The number of the line with a name; the last if there are several.
    pub(super) fn find(&self, name: &str) -> Option<u32> {
        self.slots[self.slot(&self.slots, name.as_bytes())].checked_sub(1)
    }

    fn name(&self, line: u32) -> &'static [u8] {
        let line = line as usize;
        &self.text[self.starts[line] as usize..self.starts[line + 1] as usize - 1]
    }

    /// Where a name is, or where there is room for it.
    fn slot(&self, slots: &[u32], name: &[u8]) -> usize {
        let mask = slots.len() - 1;
        let mut slot = hash(name) as usize & mask;
        while slots[slot] != 0 && self.name(slots[slot] - 1) != name {
            slot = (slot + 1) & mask;
        }
        slot
    }
}

/// FNV-1a with 64 bits, the upper ones folded into the lower ones.
fn hash(bytes: &[u8]) -> u64 {
    let hash = bytes.iter().fold(0xCBF2_9CE4_8422_2325_u64, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3)
    });
    hash ^ (hash >> 32)
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
