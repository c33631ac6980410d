//! A terminal for a trial's output: into a pipe, most programs hold their lines back until 4 kB are full, or to their end.

use std::os::fd::OwnedFd;

use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::pty::{OpenptyResult, Winsize, openpty};
use nix::sys::termios::{SetArg, cfmakeraw, tcgetattr, tcsetattr};

/// Wide enough that no program breaks its lines.
const SIZE: Winsize = Winsize { ws_row: 50, ws_col: 400, ws_xpixel: 0, ws_ypixel: 0 };

/// The variables set for a trial: a terminal on which bars are drawn while it runs, and no pager that waits for a key.
pub(crate) const VARIABLES: [(&str, &str); 2] = [("TERM", "xterm"), ("PAGER", "cat")];

/// The end that is read, and the end that a trial writes to; bytes pass as they are.
pub(crate) struct Terminal {
    pub(crate) reads: OwnedFd,
    pub(crate) writes: OwnedFd,
}

impl Terminal {
    /// A new terminal; `None` where the system has none to give, as in some containers.
    pub(crate) fn open() -> Option<Self> {
        let OpenptyResult { master, slave } = openpty(&SIZE, None).ok()?;
        for end in [&master, &slave] {
            // other trials must not inherit it
            fcntl(end, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC)).ok()?;
        }
        let mut settings = tcgetattr(&slave).ok()?;
        cfmakeraw(&mut settings);
        tcsetattr(&slave, SetArg::TCSANOW, &settings).ok()?;
        Some(Self { reads: master, writes: slave })
    }
}
