"""Writes python/foretell/_settings.py from the settings of the core: `python python/settings.py`. Needs the package."""

import keyword
from pathlib import Path

HERE = Path(__file__).parent
TARGET = HERE / "python" / "foretell" / "_settings.py"
#: Arguments of `Study`.
OWN = ("space", "metric", "direction", "epochs", "trials", "learn_from")
#: Types more precise than the schema.
TYPES = {
    "enqueue": "Mapping[str, Any] | str | Sequence[Mapping[str, Any] | str]",
    "objective": "str | Sequence[str] | Mapping[str, str]",
    "limit": "str | Sequence[str]",
    "predictor": "Predictor",
}
HEAD = '''"""The settings of a study, for editors and type checkers. Generated from the core by `python python/settings.py`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict

'''


def text():
    """The file."""
    import foretell
    from foretell._foretell import judge_settings, schema

    fields = schema()
    spread = [f"{name}+{way}" for name in foretell.predictors() for way in ("gaussian", "calibrated")]
    parts = [
        HEAD,
        alias("Direction", ["maximize", "minimize"], "The directions of a metric."),
        alias("Predictor", [*foretell.predictors(), *spread], "The predictors, optionally with another width of the forecast."),
    ]
    settings = {name: of for name, of in fields.items() if name not in OWN}
    parts += table("StudySettings", settings, "The settings of a study, except the named arguments of `Study`.")
    judge = {name: fields[name] for name in judge_settings()}
    parts += table("StopSettings", judge, "The settings of the stop rule.")
    pruner = {name: of for name, of in judge.items() if name != "burn_in"}
    parts += table("PrunerSettings", pruner, "The settings of the stop rule for tools with their own name for the burn-in.")
    return "".join(parts)


def alias(name, values, doc):
    """A type with these values, a line a few of them."""
    lines, line = [], "   "
    for value in values:
        word = f' "{value}",'
        if len(line) + len(word) > 128:
            lines.append(line)
            line = "   "
        line += word
    return f"#: {doc}\n{name} = Literal[\n" + "\n".join([*lines, line]) + "\n]\n"


def table(name, fields, doc):
    """A dict type with a comment for each field."""
    yield f'\n\nclass {name}(TypedDict, total=False):\n    """{doc}"""\n\n'
    for field, of in fields.items():
        assert not keyword.iskeyword(field), field
        for line in wrapped(of["description"]):
            yield f"    #: {line}\n"
        yield f"    {field}: {TYPES.get(field) or kind(of)} | None\n"


def wrapped(words):
    """Lines of at most 120 characters."""
    line = ""
    for word in words.split():
        if len(line) + len(word) > 118:
            yield line
            line = ""
        line += (" " if line else "") + word
    yield line


def kind(of):
    """The type of a field."""
    if "enum" in of or "const" in of:
        return "Literal[" + ", ".join(f'"{one}"' for one in of.get("enum") or [of["const"]]) + "]"
    ways = of.get("oneOf") or of.get("anyOf")
    if ways:
        kinds = [kind(way) for way in ways]
        words = [one[8:-1] for one in kinds if one.startswith("Literal[")]
        others = list(dict.fromkeys(one for one in kinds if not one.startswith("Literal[")))
        return " | ".join(([f"Literal[{', '.join(words)}]"] if words else []) + others)
    if of.get("type") == "array":
        return f"Sequence[{kind(of['items'])}]"
    if isinstance(of.get("type"), list):
        return " | ".join(kind({"type": one}) for one in of["type"])
    named = {"integer": "int", "number": "float", "boolean": "bool", "string": "str", "object": "Mapping[str, Any]", None: "Any"}
    return named[of.get("type")]


if __name__ == "__main__":
    TARGET.write_text(text())
