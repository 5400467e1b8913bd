//! The echo of typed characters, off while the live view is shown: `^C` would be written into it.

use std::io;
use std::os::fd::AsFd;

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

/// A terminal without echo; its settings are restored when this is dropped.
#[derive(Debug)]
pub(crate) struct EchoOff<T: AsFd> {
    terminal: T,
    before: Termios,
}

impl<T: AsFd> EchoOff<T> {
    /// Switches the echo of `terminal` off. Ctrl-C still interrupts.
    ///
    /// # Errors
    /// The system's, where it is no terminal.
    pub(crate) fn new(terminal: T) -> io::Result<Self> {
        let before = tcgetattr(&terminal)?;
        let mut silent = before.clone();
        silent.local_modes.remove(LocalModes::ECHO);
        tcsetattr(&terminal, OptionalActions::Now, &silent)?;
        Ok(Self { terminal, before })
    }
}

impl<T: AsFd> Drop for EchoOff<T> {
    fn drop(&mut self) {
        let _terminal_gone = tcsetattr(&self.terminal, OptionalActions::Now, &self.before);
    }
}

#[cfg(test)]
mod tests {
    use rustix::pty::{OpenptFlags, openpt};

    use super::*;

    #[test]
    fn typed_characters_are_not_echoed_and_interrupts_still_work() {
        let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        let modes = || tcgetattr(&terminal).unwrap().local_modes;
        assert!(modes().contains(LocalModes::ECHO));
        let off = EchoOff::new(&terminal).unwrap();
        assert!(!modes().contains(LocalModes::ECHO) && modes().contains(LocalModes::ISIG));
        drop(off);
        assert!(modes().contains(LocalModes::ECHO));
    }
}
