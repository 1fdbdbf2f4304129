//! `meno tag`: lines of text in, one annotation a line out.
//!
//! Input is taken in blocks of whole lines, as many as can be had at once, and all answers to a block are written
//! before the next is asked for. So a file goes through fast, and whoever writes one line and waits gets its answer.

use std::fs::File;
use std::io::{self, IsTerminal, Read, Write};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use meno::engine::{BATCH, Tokenization};
use meno::memory::{Owner, Remembered};
use meno::resolve::Shape;
use meno::{Error, Model, Result, Worker};
use meno_store::{Access, Clock, Memory};

use crate::memory::told;
use crate::output::{escaped, note, written};
use crate::readable::Palette;
use crate::settings::{OverrideArgs, ShapeName, SpellingArgs, ValueArgs};
use crate::style::Style;

const EXAMPLES: &str = "\
Examples:
  echo 'Wake me at six, please!' | meno tag my.model
  meno tag my.model requests.txt > tagged.jsonl
  meno tag my.model --words DIR/test/seq.in       words as a corpus has them
  meno tag my.model                               type requests; Ctrl-D ends
  meno tag my.model --store concepts.db           with what was taught, see `meno help memory`
  meno tag my.model --now 2026-11-17T08:00:00+01:00 requests.txt

Each line gives one JSON object:
  text     the line as it was
  intent   {\"name\", \"probability\"}, or null
  tokens   [{\"text\", \"start\", \"end\", \"label\", \"probability\", \"first_choice\", \"uncertainty\", \"unknown\",
           \"reason\"}], offsets in bytes; label is B-unknown or I-unknown where the uncertainty is above the threshold,
           first_choice and its probability are the tagger's own; the reason has score, threshold and runners_up; a
           word that is unknown because it belongs to a phrase also has grown: the number of the word it was reached
           from, and `head`, `child` or `neighbour` with the relation or part of speech
  spans    [{\"slot\", \"text\", \"start\", \"end\"}], and a value where the corpus said that the words stand for another;
           resolved where the slot declares what it is: a time, a number and so on, null if not known for sure
  memory   with --store: [{\"concept\", \"slot\", \"value\", \"text\", \"start\", \"end\"}], the concepts among the spans
On a terminal, or with --color always, a readable form is shown instead, unless --json asks for JSON.";

/// What was typed after `meno tag`.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// A model file that `meno train` wrote.
    #[arg(value_name = "MODEL")]
    model: PathBuf,
    /// The lines to tag; standard input if it is left out or `-`.
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// Take what stands between white space as the words of the corpus, as they are.
    #[arg(long)]
    words: bool,
    /// Print JSON even on a terminal.
    #[arg(long)]
    json: bool,
    /// Threads to tag on; the order of the lines is kept.
    #[arg(long, value_name = "N", default_value = "1")]
    threads: NonZeroUsize,
    /// Where the concepts that were taught are kept: a file, or postgres://...
    #[arg(long, value_name = "STORE")]
    store: Option<String>,
    /// Whose concepts to know, besides everyone's.
    #[arg(long, value_name = "USER", requires = "store")]
    owner: Option<String>,
    #[command(flatten)]
    spelling: SpellingArgs,
    #[command(flatten)]
    threshold: OverrideArgs,
    #[command(flatten)]
    values: ValueArgs,
    /// How values are written.
    #[arg(long = "values", value_name = "SHAPE", default_value = "duckling", help_heading = "Values")]
    shape: ShapeName,
}

/// Runs the command.
pub fn run(args: Args, style: Style) -> Result<ExitCode> {
    let (clock, shape) = (args.values.clock()?, args.shape.into());
    let user = args
        .owner
        .as_deref()
        .map(Owner::named)
        .transpose()?
        .and_then(|owner| owner.user().map(str::to_owned));
    let model = args.threshold.apply(Model::load(&args.model)?)?;
    let file = args.file.filter(|file| file.as_os_str() != "-");
    let path = file.as_deref().unwrap_or(Path::new("standard input"));
    let is_terminal = io::stdout().is_terminal();
    let memory = args.store.as_deref().map(|store| Memory::open(store, Access::Existing)).transpose();
    let spelling = args.spelling.into();
    let memory = memory.map_err(told)?.map(|memory| (memory.with_spelling(spelling), user));
    let palette = (!args.json && (is_terminal || style.always)).then(|| Palette::new(&model, style.stdout));
    let tagger = Tagger {
        path,
        tokenization: if args.words { Tokenization::Pretokenized } else { Tokenization::Raw },
        palette: palette.as_ref(),
        is_terminal,
        lanes: (0..args.threads.get()).map(|_| Lane::new(&model, memory.as_ref(), &clock, shape)).collect(),
        n_lines: 0,
    };
    match &file {
        Some(file) => {
            let input = File::open(file).map_err(|source| Error::Read { path: file.clone(), source })?;
            tagger.run(input)?;
        }
        None => {
            if io::stdin().is_terminal() {
                note("type a request and Enter; Ctrl-D ends");
            }
            tagger.run(io::stdin().lock())?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

struct Tagger<'a> {
    path: &'a Path,
    tokenization: Tokenization,
    palette: Option<&'a Palette>,
    /// Whether a terminal is to show it.
    is_terminal: bool,
    lanes: Vec<Lane<'a>>,
    /// Lines that are done.
    n_lines: usize,
}

/// A thread's share of a block.
struct Lane<'a> {
    worker: Worker,
    /// What was taught, and who asks.
    memory: Option<&'a (Memory, Option<String>)>,
    clock: &'a Clock,
    shape: Shape,
    out: Vec<u8>,
}

/// A line that cannot be read, by its number within a part of a block.
struct BadLine {
    line_idx: usize,
    problem: String,
    hint: &'static str,
}

impl Tagger<'_> {
    fn run(mut self, input: impl Read) -> Result<()> {
        let mut blocks = Blocks::new(input);
        let mut stdout = io::stdout().lock();
        while let Some(block) =
            blocks.next().map_err(|source| Error::Read { path: self.path.to_owned(), source })?
        {
            let result = self.tag(block, &mut stdout);
            match stdout.flush().and(result) {
                Ok(Ok(())) => {}
                Ok(Err(bad)) => return Err(self.unreadable(bad)),
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(()),
                failed => return written(failed.map(|_| ())),
            }
        }
        Ok(())
    }

    /// Tags the lines of a block and writes what is known up to the first bad line.
    fn tag(&mut self, block: &[u8], stdout: &mut impl Write) -> io::Result<Result<(), BadLine>> {
        let (tokenization, palette) = (self.tokenization, self.palette);
        let parts = split(block, self.lanes.len());
        let results: Vec<Result<usize, BadLine>> = std::thread::scope(|scope| {
            let mut shares = self.lanes.iter_mut().zip(&parts);
            let first = shares.next();
            let others: Vec<_> = shares
                .map(|(lane, part)| {
                    std::thread::Builder::new()
                        .spawn_scoped(scope, move || lane.tag(part, tokenization, palette))
                })
                .collect::<io::Result<_>>()?;
            let first = first.map(|(lane, part)| lane.tag(part, tokenization, palette));
            let others = others
                .into_iter()
                .map(|other| other.join().map_err(|_| io::Error::other("a thread ended early")));
            first.map(Ok).into_iter().chain(others).collect::<io::Result<_>>()
        })?;
        for (lane, result) in self.lanes.iter().zip(results) {
            match self.is_terminal && palette.is_none() {
                true => stdout.write_all(escaped(&String::from_utf8_lossy(&lane.out)).as_bytes())?,
                false => stdout.write_all(&lane.out)?,
            }
            match result {
                Ok(n_lines) => self.n_lines += n_lines,
                Err(bad) => return Ok(Err(bad)),
            }
        }
        Ok(Ok(()))
    }

    fn unreadable(&self, BadLine { line_idx, problem, hint }: BadLine) -> Error {
        Error::Corpus {
            path: self.path.to_owned(),
            line: self.n_lines + line_idx + 1,
            problem,
            hint: hint.to_owned(),
        }
    }
}

impl<'a> Lane<'a> {
    fn new(
        model: &'a Model,
        memory: Option<&'a (Memory, Option<String>)>,
        clock: &'a Clock,
        shape: Shape,
    ) -> Self {
        Lane { worker: model.worker(), memory, clock, shape, out: Vec::new() }
    }

    /// Tags the lines of a part into `out`; gives how many there were.
    fn tag(
        &mut self,
        part: &[u8],
        tokenization: Tokenization,
        palette: Option<&Palette>,
    ) -> Result<usize, BadLine> {
        self.out.clear();
        let (texts, result) = texts(part);
        for texts in texts.chunks(BATCH) {
            self.answer(texts, tokenization, palette);
        }
        result.map(|()| texts.len())
    }

    fn answer(&mut self, texts: &[&str], tokenization: Tokenization, palette: Option<&Palette>) {
        let Lane { worker, memory, clock, shape, out } = self;
        for annotation in worker.annotate_all(texts, tokenization) {
            let mut remembered = match memory {
                Some((memory, user)) => {
                    memory.complete(worker, None, annotation, tokenization, user.as_deref())
                }
                None => Remembered { annotation, memory: Vec::new() },
            };
            worker.model().resolve_remembered(&mut remembered, *shape, || clock.now());
            match palette {
                Some(palette) => {
                    let annotation = &remembered.annotation;
                    let (line, heat) = (palette.show(annotation), palette.heat(annotation));
                    let (growth, decision) = (palette.growth(annotation), palette.decision(annotation));
                    write!(out, "{line}{heat}{growth}{decision}").expect("memory takes any text");
                }
                None if memory.is_none() => remembered.annotation.write_json(out),
                None => remembered.write_json(out),
            }
            out.push(b'\n');
        }
    }
}

/// The lines of a part up to the first that cannot be read.
fn texts(part: &[u8]) -> (Vec<&str>, Result<(), BadLine>) {
    let mut texts = Vec::new();
    for (line_idx, line) in part.split_inclusive(|&byte| byte == b'\n').enumerate() {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        match text(line) {
            Ok(text) => texts.push(text),
            Err((problem, hint)) => return (texts, Err(BadLine { line_idx, problem, hint })),
        }
    }
    (texts, Ok(()))
}

/// A line as text, or what is wrong with it and what to do about that.
fn text(line: &[u8]) -> Result<&str, (String, &'static str)> {
    if line.len() > LONGEST {
        let problem = format!("the line is longer than {LONGEST} bytes");
        return Err((problem, "an utterance is a line; break the text into lines"));
    }
    std::str::from_utf8(line).map_err(|error| {
        let byte_idx = error.valid_up_to();
        let byte = line[byte_idx];
        let problem = format!("not UTF-8: byte 0x{byte:02X} at byte {} of the line", byte_idx + 1);
        (problem, "text must be UTF-8, for example by `iconv -f latin1 -t utf-8`")
    })
}

/// Cuts a block into at most `n` parts of whole lines and about the same size.
fn split(mut block: &[u8], n: usize) -> Vec<&[u8]> {
    let mut parts = Vec::with_capacity(n);
    for left in (1..=n).rev() {
        if block.is_empty() {
            break;
        }
        let at_least = block.len() / left;
        let end = block[at_least.max(1) - 1..].iter().position(|&byte| byte == b'\n');
        let end = if left == 1 { block.len() } else { end.map_or(block.len(), |end| at_least.max(1) + end) };
        let (part, rest) = block.split_at(end);
        parts.push(part);
        block = rest;
    }
    parts
}

/// Reads as many whole lines as can be had without waiting for more.
struct Blocks<R> {
    input: R,
    buffer: Vec<u8>,
    /// The end of the block that was given last; what follows it is the beginning of a line.
    given: usize,
    /// The end of what was read.
    filled: usize,
    is_first: bool,
}

const BLOCK: usize = 1 << 16;
/// No line is longer, in bytes: a stream without line ends must not fill the memory.
const LONGEST: usize = 1 << 21;
const BOM: &[u8] = b"\xef\xbb\xbf";

impl<R: Read> Blocks<R> {
    fn new(input: R) -> Self {
        Blocks { input, buffer: vec![0; BLOCK], given: 0, filled: 0, is_first: true }
    }

    fn next(&mut self) -> io::Result<Option<&[u8]>> {
        self.buffer.copy_within(self.given..self.filled, 0);
        self.filled -= self.given;
        self.given = 0;
        while self.given == 0 {
            if self.filled == self.buffer.len() {
                self.buffer.resize(2 * self.filled, 0);
            }
            let n_read = match self.input.read(&mut self.buffer[self.filled..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                read => read?,
            };
            let new = &self.buffer[self.filled..self.filled + n_read];
            let line_end = new.iter().rposition(|&byte| byte == b'\n');
            self.given = line_end.map_or(0, |line_end| self.filled + line_end + 1);
            self.filled += n_read;
            let is_too_long = self.given == 0 && self.filled > LONGEST + 2;
            if n_read == 0 || is_too_long {
                self.given = self.filled;
                break;
            }
        }
        let block = &self.buffer[..self.given];
        let is_first = std::mem::replace(&mut self.is_first, false);
        let block = if is_first { block.strip_prefix(BOM).unwrap_or(block) } else { block };
        Ok((self.given > 0).then_some(block))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives its pieces one read after the other.
    struct Pieces<'a>(Vec<&'a [u8]>);

    impl Read for Pieces<'_> {
        fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
            let Some(piece) = self.0.first_mut() else { return Ok(0) };
            let n = piece.len().min(to.len());
            to[..n].copy_from_slice(&piece[..n]);
            *piece = &piece[n..];
            if piece.is_empty() {
                self.0.remove(0);
            }
            Ok(n)
        }
    }

    fn check(pieces: &[&str], expected: &[&str]) {
        let mut blocks = Blocks::new(Pieces(pieces.iter().map(|piece| piece.as_bytes()).collect()));
        let mut found = Vec::new();
        while let Some(block) = blocks.next().unwrap() {
            found.push(String::from_utf8(block.to_vec()).unwrap());
        }
        assert_eq!(found, expected);
    }

    #[test]
    fn blocks_are_whole_lines() {
        check(&[], &[]);
        check(&["a\nb\n"], &["a\nb\n"]);
        check(&["a\nb", "c\nd"], &["a\n", "bc\n", "d"]);
        check(&["\n", "\n"], &["\n", "\n"]);
        check(&["\u{feff}a\n", "\u{feff}b\n"], &["a\n", "\u{feff}b\n"]);
        let long = "x".repeat(3 * BLOCK);
        check(&[&long, "\ny"], &[&format!("{long}\n"), "y"]);
    }

    #[test]
    fn parts_are_whole_lines() {
        for (block, n, expected) in [
            ("", 2, vec![]),
            ("a\n", 2, vec!["a\n"]),
            ("a\nb\n", 1, vec!["a\nb\n"]),
            ("a\nb\n", 2, vec!["a\n", "b\n"]),
            ("a\nb\nc", 9, vec!["a\n", "b\n", "c"]),
            ("long line\nb\n", 2, vec!["long line\n", "b\n"]),
            ("\n\n\n", 2, vec!["\n", "\n\n"]),
        ] {
            let parts: Vec<&str> = split(block.as_bytes(), n)
                .into_iter()
                .map(|part| std::str::from_utf8(part).unwrap())
                .collect();
            assert_eq!(parts, expected, "{block:?} in {n}");
        }
    }
}
