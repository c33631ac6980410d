"""`python -m foretell` is the `foretell` command."""

import sys

from ._command import main

sys.exit(main())
