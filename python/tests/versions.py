"""Records the versions of packages that the tests passed with: `python tests/versions.py keras jax`. reference.py prints the list."""

import json
import platform
import sys
from importlib.metadata import version
from pathlib import Path

FILE = Path(__file__).parent / "versions.json"

kept = json.loads(FILE.read_text()) if FILE.exists() else {}
for package in sys.argv[1:]:
    name = package.split("[")[0]
    kept[name] = {"version": version(name).split("+")[0], "python": ".".join(platform.python_version_tuple()[:2])}
FILE.write_text(json.dumps(dict(sorted(kept.items(), key=lambda item: item[0].lower())), indent=1) + "\n")
