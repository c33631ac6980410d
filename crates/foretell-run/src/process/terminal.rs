//! A terminal for a trial's output: into a pipe, most programs hold their lines back until 4 kB are full, or to their end.

use std::io;
use std::os::fd::OwnedFd;
use std::process::Command;

use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::pty::{OpenptyResult, Winsize, openpty};
use nix::sys::termios::{SetArg, cfmakeraw, tcgetattr, tcsetattr};

/// Wide enough that no program breaks its lines.
const TERMINAL_SIZE: Winsize = Winsize { ws_row: 50, ws_col: 400, ws_xpixel: 0, ws_ypixel: 0 };

/// The variables set for a trial: a terminal on which bars are drawn while it runs, and no pager that waits for a key.
// not `dumb`: rich would draw its bars at the end only, and all epochs but the last would be lost (decision 41)
pub(crate) const TERMINAL_VARIABLES: [(&str, &str); 2] = [("TERM", "xterm"), ("PAGER", "cat")];

/// The stream that a trial prints to, standard output and standard error alike, so that their order is the one that a person sees.
/// Bytes pass as they are.
pub(crate) struct Terminal {
    /// The end that is read.
    pub(crate) reads: OwnedFd,
    /// The end that the trial writes to.
    pub(crate) writes: OwnedFd,
}

impl Terminal {
    /// A new terminal; a pipe where the system has none to give, as in some containers.
    pub(crate) fn open() -> io::Result<Self> {
        Self::real().map_or_else(Self::pipe, Ok)
    }

    fn real() -> Option<Self> {
        let OpenptyResult { master, slave } = openpty(&TERMINAL_SIZE, None).ok()?;
        for end in [&master, &slave] {
            // other trials must not inherit it
            fcntl(end, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC)).ok()?;
        }
        let mut settings = tcgetattr(&slave).ok()?;
        // a terminal writes a carriage return before each newline unless it is raw
        cfmakeraw(&mut settings);
        tcsetattr(&slave, SetArg::TCSANOW, &settings).ok()?;
        Some(Self { reads: master, writes: slave })
    }

    fn pipe() -> io::Result<Self> {
        let (reads, writes) = io::pipe()?;
        Ok(Self { reads: reads.into(), writes: writes.into() })
    }

    /// Lets `command` print to it; answers with the end that is read.
    pub(crate) fn attach_to(self, command: &mut Command) -> io::Result<OwnedFd> {
        command.stdout(self.writes.try_clone()?).stderr(self.writes);
        Ok(self.reads)
    }
}

#[cfg(test)]
mod tests {
    use super::Terminal;
    use std::fs::File;
    use std::io::Read;
    use std::process::Command;

    #[test]
    fn both_streams_arrive_in_the_order_of_their_lines_with_and_without_a_terminal() {
        for stream in [Terminal::real().expect("a terminal"), Terminal::pipe().expect("a pipe")] {
            let mut command = Command::new("sh");
            command.args(["-c", "for i in 1 2 3 4; do echo out $i; echo err $i >&2; done"]);
            let mut reads = File::from(stream.attach_to(&mut command).expect("two ends"));
            command.status().expect("sh runs");
            drop(command);
            let mut printed = Vec::new();
            // Linux ends a terminal with an error
            let _ = reads.read_to_end(&mut printed);
            let expected: String = (1..=4).map(|i| format!("out {i}\nerr {i}\n")).collect();
            assert_eq!(String::from_utf8_lossy(&printed), expected);
        }
    }
}
