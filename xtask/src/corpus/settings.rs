//! What tells one corpus that ships from another: its folder, its slots, its sizes and its shares.

/// How a corpus is made from its source.
pub struct Settings {
    /// Its folder below `data`, and the task that writes it.
    pub name: &'static str,
    /// Changing it changes every split.
    pub seed: u64,
    pub slots: &'static [Slot],
    /// Slots of which two side by side would be one value, such as "friday" + "at nine" where a time is one value.
    pub joined: &'static [&'static str],
    /// Whether words may have digits and the marks inside them: `7:30`, `21.5`, `21st`, `50%`, `r&b`.
    pub digits: bool,
    pub min_patterns: usize,
    pub min_sentences: usize,
    /// Utterances in train, valid, test and new; a split of none is not written.
    pub sizes: [usize; 4],
    /// Utterances of `new` that hold two new concepts.
    pub n_double: usize,
    /// The share of each kind, from its head, that is never held out, in percent.
    pub head: usize,
    /// The share of each kind that is held out of train, in percent.
    pub held_out_values: usize,
    /// How often valid and test draw a held-out value, in percent.
    pub draw_held_out: usize,
    /// The share of each intent's patterns that is held out of train, in percent.
    pub held_out_patterns: usize,
    /// How often valid and test draw a held-out pattern, in percent.
    pub draw_held_out_pattern: usize,
    /// Of how many draws the commonest value is taken: 1 would use all equally often.
    pub value_skew: usize,
    /// The same for patterns.
    pub pattern_skew: usize,
    /// Words with a typo in a thousand that may have one.
    pub typos: usize,
}

/// A slot type, which has a file in `values/` and may have one in `new/`.
pub struct Slot {
    pub name: &'static str,
    pub min_values: usize,
    /// Whether its values are never misspelt, as something has to understand them.
    pub closed: bool,
}

const fn open(name: &'static str, min_values: usize) -> Slot {
    Slot { name, min_values, closed: false }
}

const fn closed(name: &'static str, min_values: usize) -> Slot {
    Slot { name, min_values, closed: true }
}

/// Every corpus that ships.
pub const CORPORA: &[Settings] = &[CONCEPTS, ASSISTANT, ANSWERS];

/// It has the shape of the set that it stands in for: 642 new concepts in 594 utterances, 1.08 each.
pub const CONCEPTS: Settings = Settings {
    name: "concepts",
    seed: 2017,
    slots: &[open("item", 60), open("media", 60), open("person", 60), open("place", 60), open("time", 60)],
    joined: &["time"],
    digits: false,
    min_patterns: 150,
    min_sentences: 60,
    sizes: [1534, 219, 440, 594],
    n_double: 48,
    head: 40,
    held_out_values: 36,
    draw_held_out: 7,
    held_out_patterns: 12,
    draw_held_out_pattern: 8,
    value_skew: 2,
    pattern_skew: 7,
    typos: 0,
};

/// What people ask of it counts more than what is held out: train has nearly all that was written.
pub const ASSISTANT: Settings = Settings {
    name: "assistant",
    seed: 2026,
    slots: &[
        open("artist", 120),
        closed("cuisine", 30),
        closed("date", 60),
        closed("device", 40),
        closed("duration", 60),
        open("event", 120),
        closed("genre", 40),
        open("item", 120),
        closed("list", 25),
        open("message", 120),
        closed("number", 60),
        open("person", 120),
        open("place", 120),
        open("playlist", 60),
        closed("room", 30),
        open("song", 120),
        open("task", 120),
        closed("temperature", 60),
        closed("time", 60),
    ],
    joined: &["time", "date", "duration"],
    digits: true,
    min_patterns: 600,
    min_sentences: 8000,
    sizes: [9600, 900, 1180, 500],
    n_double: 40,
    head: 50,
    held_out_values: 16,
    draw_held_out: 10,
    held_out_patterns: 9,
    draw_held_out_pattern: 12,
    value_skew: 2,
    pattern_skew: 2,
    typos: 12,
};

/// What is tested is written by hand, so that nothing is held out of train.
pub const ANSWERS: Settings = Settings {
    name: "answers",
    seed: 2026,
    slots: &[open("phrase", 120), open("type", 120), open("value", 120)],
    joined: &[],
    digits: true,
    min_patterns: 800,
    min_sentences: 8000,
    sizes: [9000, 800, 0, 0],
    n_double: 0,
    head: 50,
    held_out_values: 16,
    draw_held_out: 10,
    held_out_patterns: 9,
    draw_held_out_pattern: 30,
    value_skew: 1,
    pattern_skew: 1,
    typos: 8,
};
