"""Words of the command line in the place of global variables; a value of another type ends the script."""
import sys
from ast import literal_eval

for word in sys.argv[1:]:
    assert word.startswith('--') and '=' in word, f"expected --key=value, found {word}"
    key, value = word[2:].split('=', 1)
    if key not in globals():
        raise ValueError(f"Unknown config key: {key}")
    try:
        attempt = literal_eval(value)
    except (SyntaxError, ValueError):
        attempt = value
    assert type(attempt) == type(globals()[key]), f"{key} is {type(globals()[key])}, not {value}"
    globals()[key] = attempt
