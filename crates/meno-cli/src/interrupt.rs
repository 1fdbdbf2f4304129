//! Ctrl-C during long work: the first one asks it to stop, the second one ends the program at once.

use std::process;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The exit code of a program that Ctrl-C ended.
pub const EXIT_CODE: u8 = 130;

/// Listens for Ctrl-C from when it is made until the program ends.
pub struct Interrupt {
    pressed: Arc<AtomicBool>,
    saving: Arc<Mutex<()>>,
}

impl Interrupt {
    pub fn listen() -> Self {
        let interrupt = Interrupt { pressed: Arc::default(), saving: Arc::default() };
        let (pressed, saving) = (interrupt.pressed.clone(), interrupt.saving.clone());
        // If the system refuses, Ctrl-C ends the program as it does any other; the work itself can go on.
        let _ = ctrlc::set_handler(move || {
            if pressed.swap(true, Ordering::SeqCst) {
                let _whole = saving.lock().unwrap_or_else(PoisonError::into_inner);
                process::exit(EXIT_CODE.into());
            }
        });
        interrupt
    }

    /// Whether the work should stop.
    pub fn pressed(&self) -> bool {
        self.pressed.load(Ordering::SeqCst)
    }

    /// From now on there is nothing to stop any more: the next Ctrl-C ends the program.
    pub fn done(&self) {
        self.pressed.store(true, Ordering::SeqCst);
    }

    /// While the result lives, Ctrl-C waits, so that no temporary file is left behind.
    pub fn saving(&self) -> MutexGuard<'_, ()> {
        self.saving.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
