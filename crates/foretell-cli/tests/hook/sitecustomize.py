"""Lets the scripts of this folder write the values that they know themselves to the file TRUTH."""
import builtins
import json
import os


def truth(**row):
    if os.environ.get("TRUTH"):  # a trial of `foretell init` has none
        with open(os.environ["TRUTH"], "a") as file:
            file.write(json.dumps(dict(row, trial=os.environ.get("FORETELL_TRIAL"))) + "\n")


builtins.truth = truth
