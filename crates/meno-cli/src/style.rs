//! Colour, where it is wanted.

use std::fmt::{self, Display};
use std::io::{self, IsTerminal};

// Without documentation of each value the help of every command stays short.
/// When to use colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Color {
    #[default]
    Auto,
    Always,
    Never,
}

/// Where colour goes.
#[derive(Clone, Copy, Debug)]
pub struct Style {
    /// To standard output.
    pub stdout: bool,
    /// To standard error.
    pub stderr: bool,
    /// It was asked for, terminal or not.
    pub always: bool,
}

impl Style {
    pub fn new(color: Color) -> Self {
        let auto = |is_terminal: bool| match color {
            Color::Always => true,
            Color::Never => false,
            // As https://no-color.org has it: set to anything but the empty string.
            Color::Auto => is_terminal && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()),
        };
        Style {
            stdout: auto(io::stdout().is_terminal()),
            stderr: auto(io::stderr().is_terminal()),
            always: color == Color::Always,
        }
    }
}

/// Text attributes by their SGR number.
pub const BOLD: &str = "1";
pub const DIM: &str = "2";
pub const BAR: &str = "36";

/// Colours that are told apart on dark and light grounds.
pub const SLOTS: [&str; 5] = ["1;36", "1;35", "1;33", "1;32", "1;34"];

/// What is unknown, whatever the slots are.
pub const UNKNOWN: &str = "1;31";

/// Grounds from cool to hot; the upper half is over the threshold.
pub const HEAT: [&str; 6] =
    ["30;48;5;254", "30;48;5;230", "30;48;5;222", "30;48;5;215", "30;48;5;209", "97;48;5;160"];

/// The same as colours of letters.
pub const HEAT_TEXT: [&str; 4] = ["32", "33", "31", "1;31"];

/// A value that is shown in a colour, or plainly.
pub struct Paint<T> {
    value: T,
    code: &'static str,
    on: bool,
}

/// Shows `value` with the attributes `code` if colour is `on`.
pub fn paint<T: Display>(value: T, code: &'static str, on: bool) -> Paint<T> {
    Paint { value, code, on }
}

impl<T: Display> Display for Paint<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.on {
            return self.value.fmt(f);
        }
        write!(f, "\x1b[{}m", self.code)?;
        self.value.fmt(f)?;
        f.write_str("\x1b[0m")
    }
}
