"""The `foretell` command."""

import signal
import sys

from ._foretell import run_command


def main() -> int:
    """Runs the command line and returns its exit code."""
    # Ctrl-C ends the command as it does everywhere, and not only once Rust gives control back
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return run_command(["foretell", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
