//! CoNLL-U: ten columns a word, a blank line after each sentence.
//!
//! Enters: a file. Leaves: [`Sentence`]s whose words are numbered 1, 2, 3 and so on and whose heads, where they are
//! given, form one tree. Comments, multi-word tokens (`3-4`) and empty nodes (`5.1`) are kept and written again where
//! they stood. Whatever breaks this is an error with its file and line.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use super::tree::{self, Fault};
use super::upos::Upos;
use crate::{Error, Result};

/// A sentence of a treebank.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sentence {
    /// Lines that begin with `#`, as they are.
    pub comments: Vec<String>,
    /// The words of the tree.
    pub words: Vec<Word>,
    /// Multi-word tokens, in the order of their first words.
    pub multiword: Vec<Multiword>,
    /// Nodes that only the enhanced graph has.
    pub empty: Vec<EmptyNode>,
}

/// A word. Columns that meno does not work with are kept as text; `_` where there is nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// As it is written.
    pub form: String,
    /// Column 3.
    pub lemma: String,
    /// The tag, if it is given.
    pub upos: Option<Upos>,
    /// Column 5.
    pub xpos: String,
    /// Column 6.
    pub feats: String,
    /// The number of its head, 0 for the root; `None` if it is not given.
    pub head: Option<usize>,
    /// How it relates to its head.
    pub relation: String,
    /// Column 9.
    pub deps: String,
    /// Column 10.
    pub misc: String,
}

/// A token that stands for several words, such as `don't`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Multiword {
    /// Its first word, from 1.
    pub first: usize,
    /// Its last word.
    pub last: usize,
    /// As it is written.
    pub form: String,
    /// Columns 3 to 10, as they are.
    pub rest: String,
}

/// A node of the enhanced graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EmptyNode {
    /// The word after which it stands, 0 for before the first.
    pub after: usize,
    /// The whole line.
    pub line: String,
}

impl Word {
    /// A word of which only the form is known.
    pub fn bare(form: &str) -> Self {
        let nothing = || "_".to_owned();
        Word {
            form: form.to_owned(),
            lemma: nothing(),
            upos: None,
            xpos: nothing(),
            feats: nothing(),
            head: None,
            relation: nothing(),
            deps: nothing(),
            misc: nothing(),
        }
    }
}

/// Reads a file.
pub fn read(path: &Path) -> Result<Vec<Sentence>> {
    parse(path, &fs::read(path).map_err(|source| Error::read(path, source))?)
}

/// Reads the bytes of a file; `path` is for messages.
pub fn parse(path: &Path, bytes: &[u8]) -> Result<Vec<Sentence>> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let mut reader = Reader { path, sentence: Sentence::default(), lines: Vec::new(), sentences: Vec::new() };
    let mut line = 0;
    for text in bytes.split(|&byte| byte == b'\n') {
        line += 1;
        let text = text.strip_suffix(b"\r").unwrap_or(text);
        let text = std::str::from_utf8(text)
            .map_err(|_| reader.wrong(line, "not UTF-8", "CoNLL-U files are in UTF-8"))?;
        reader.line(line, text)?;
    }
    reader.finish(line)?;
    Ok(reader.sentences)
}

struct Reader<'a> {
    path: &'a Path,
    sentence: Sentence,
    /// The line of each word.
    lines: Vec<usize>,
    sentences: Vec<Sentence>,
}

impl Reader<'_> {
    fn wrong(&self, line: usize, problem: impl Into<String>, hint: &str) -> Error {
        Error::corpus(self.path, line, problem, hint)
    }

    fn line(&mut self, line: usize, text: &str) -> Result<()> {
        if text.is_empty() {
            return self.finish(line);
        }
        if text.starts_with('#') {
            if !self.sentence.words.is_empty() {
                let hint = "comments stand before the first word; is the blank line missing?";
                return Err(self.wrong(line, "a comment inside a sentence", hint));
            }
            self.sentence.comments.push(text.to_owned());
            return Ok(());
        }
        let columns: Vec<&str> = text.split('\t').collect();
        let &[id, form, lemma, upos, xpos, feats, head, relation, deps, misc] = columns.as_slice() else {
            let problem = format!("{} columns where CoNLL-U has ten", columns.len());
            return Err(self.wrong(line, problem, "columns are separated by one tab"));
        };
        if let Some(column) = columns.iter().position(|column| column.is_empty()) {
            let problem = format!("column {} is empty", column + 1);
            return Err(self.wrong(line, problem, "write `_` where there is nothing"));
        }
        if let Some((first, last)) = id.split_once('-') {
            let rest = columns[2..].join("\t");
            return self.multiword(line, id, (first, last), form, rest);
        }
        if let Some((after, number)) = id.split_once('.') {
            return self.empty_node(line, id, (after, number), text);
        }
        let n_words = self.sentence.words.len();
        if id.parse() != Ok(n_words + 1) {
            let problem = format!("word number `{id}` where {} is expected", n_words + 1);
            return Err(self.wrong(line, problem, "words are numbered 1, 2, 3 and so on in each sentence"));
        }
        let upos = match upos {
            "_" => None,
            name => Some(Upos::from_name(name).ok_or_else(|| {
                let problem = format!("unknown part of speech `{name}`");
                self.wrong(line, problem, "column 4 holds one of the 17 universal tags, or `_`")
            })?),
        };
        let head = match head {
            "_" => None,
            head => Some(head.parse().map_err(|_| {
                let problem = format!("the head `{head}` is not a number");
                self.wrong(line, problem, "column 7 holds the number of a word, 0 for the root, or `_`")
            })?),
        };
        let [form, lemma, xpos, feats] = [form, lemma, xpos, feats].map(str::to_owned);
        let [relation, deps, misc] = [relation, deps, misc].map(str::to_owned);
        self.sentence.words.push(Word { form, lemma, upos, xpos, feats, head, relation, deps, misc });
        self.lines.push(line);
        Ok(())
    }

    fn multiword(
        &mut self,
        line: usize,
        id: &str,
        (first, last): (&str, &str),
        form: &str,
        rest: String,
    ) -> Result<()> {
        let next = self.sentence.words.len() + 1;
        let after_others = self.sentence.multiword.last().is_none_or(|earlier| earlier.last < next);
        match (first.parse(), last.parse()) {
            (Ok(first), Ok(last)) if first == next && last >= first && after_others => {
                self.sentence.multiword.push(Multiword { first, last, form: form.to_owned(), rest });
                Ok(())
            }
            _ => {
                let hint = "a multi-word token stands before its first word, and two never overlap";
                Err(self.wrong(line, format!("the range `{id}` does not begin with word {next}"), hint))
            }
        }
    }

    fn empty_node(&mut self, line: usize, id: &str, (after, number): (&str, &str), text: &str) -> Result<()> {
        let n_words = self.sentence.words.len();
        let before = self.sentence.empty.iter().filter(|node| node.after == n_words).count();
        if after.parse() != Ok(n_words) || number.parse() != Ok(before + 1) {
            let problem = format!("empty node `{id}` where {n_words}.{} is expected", before + 1);
            return Err(self.wrong(line, problem, "an empty node bears the number of the word before it"));
        }
        self.sentence.empty.push(EmptyNode { after: n_words, line: text.to_owned() });
        Ok(())
    }

    /// The end of a sentence, at `line`.
    fn finish(&mut self, line: usize) -> Result<()> {
        if self.sentence.words.is_empty() {
            if !self.sentence.multiword.is_empty() || !self.sentence.empty.is_empty() {
                return Err(self.wrong(line, "a sentence without words", "every sentence has a word 1"));
            }
            // Comments at the end of a file belong to no sentence.
            self.sentence.comments.clear();
            return Ok(());
        }
        let n_words = self.sentence.words.len();
        if let Some(token) = self.sentence.multiword.last().filter(|token| token.last > n_words) {
            let problem = format!("the token {}-{} reaches beyond word {n_words}", token.first, token.last);
            return Err(self.wrong(line, problem, "the words of a multi-word token follow it"));
        }
        self.check_tree()?;
        self.lines.clear();
        self.sentences.push(std::mem::take(&mut self.sentence));
        Ok(())
    }

    fn check_tree(&self) -> Result<()> {
        let given = self.sentence.words.iter().filter(|word| word.head.is_some()).count();
        if given == 0 {
            return Ok(());
        }
        let without = self.sentence.words.iter().position(|word| word.head.is_none());
        if let Some(word) = without {
            let hint = "a sentence has heads for all words or for none";
            return Err(self.wrong(self.lines[word], format!("word {} has no head", word + 1), hint));
        }
        let heads: Vec<usize> = self.sentence.words.iter().filter_map(|word| word.head).collect();
        let (word, problem) = match tree::check(&heads) {
            Ok(()) => return Ok(()),
            Err(Fault::Outside(word)) => {
                (word, format!("the head {} is outside the sentence of {} words", heads[word], heads.len()))
            }
            Err(Fault::SecondRoot(word)) => (word, format!("word {} is a second root", word + 1)),
            Err(Fault::Cycle(word)) => (word, format!("word {} is its own ancestor", word + 1)),
        };
        Err(self.wrong(self.lines[word], problem, "the heads of a sentence form one tree with one root"))
    }
}

/// The text of a file with these sentences.
pub fn render(sentences: &[Sentence]) -> String {
    let mut text = String::new();
    for sentence in sentences {
        render_sentence(sentence, &mut text);
    }
    text
}

fn render_sentence(sentence: &Sentence, text: &mut String) {
    for comment in &sentence.comments {
        text.push_str(comment);
        text.push('\n');
    }
    let empty_after = |number: usize, text: &mut String| {
        for node in sentence.empty.iter().filter(|node| node.after == number) {
            text.push_str(&node.line);
            text.push('\n');
        }
    };
    empty_after(0, text);
    let mut multiword = sentence.multiword.iter().peekable();
    for (idx, word) in sentence.words.iter().enumerate() {
        if let Some(token) = multiword.next_if(|token| token.first == idx + 1) {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{}-{}\t{}\t{}", token.first, token.last, token.form, token.rest);
        }
        let Word { form, lemma, upos, xpos, feats, head, relation, deps, misc } = word;
        let upos = upos.map_or("_", Upos::name);
        let head = head.map_or("_".to_owned(), |head| head.to_string());
        let id = idx + 1;
        let _ = writeln!(
            text,
            "{id}\t{form}\t{lemma}\t{upos}\t{xpos}\t{feats}\t{head}\t{relation}\t{deps}\t{misc}"
        );
        empty_after(id, text);
    }
    text.push('\n');
}
