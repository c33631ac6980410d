"""Writes docs/reference/python.md from the docstrings: `python python/reference.py`. Needs the package, and none of the tools."""

import ast
import inspect
from pathlib import Path

HERE = Path(__file__).parent
PACKAGE = HERE / "python" / "foretell"
TARGET = HERE.parent / "docs" / "reference" / "python.md"
#: Modules in order, with the names they are used under.
MODULES = {
    "forecaster": "foretell",
    "_foretell": "foretell",
    "study": "foretell",
    "_search": "foretell",
    "space": "foretell",
    "remote": "foretell",
    "load": "foretell",
    "judge": "foretell",
    "watch": "foretell",
    "measure": "foretell",
    "sklearn": "foretell.sklearn",
    "optuna": "foretell.optuna",
    "ray": "foretell.ray",
    "lightning": "foretell.lightning",
    "transformers": "foretell.transformers",
    "keras": "foretell.keras",
}


#: What `foretell` has besides `__all__`: it leaves Python's own names alone.
SHADOWING = ["float", "int"]


def text():
    """The page."""
    parts = ["# The Python package\n\nMade from the docstrings by `python python/reference.py`. [How to use it](../how-to/python.md).\n"]
    for name, shown in MODULES.items():
        parts += native(shown) if name == "_foretell" else module(PACKAGE / f"{name}.py", shown)
    return "\n".join([*parts, *settings()])


def settings():
    """The settings of a study, with what the core says of each."""
    yield "## Settings\n\nWhat `Study`, `connect` and the judge take besides their own arguments. All may be left out.\n"
    node = next(n for n in ast.parse((PACKAGE / "_settings.py").read_text()).body if getattr(n, "name", "") == "StudySettings")
    lines = (PACKAGE / "_settings.py").read_text().splitlines()
    for field in node.body:
        if isinstance(field, ast.AnnAssign):
            said, at = [], field.lineno - 2
            while lines[at].strip().startswith("#:"):
                said.insert(0, lines[at].strip()[3:])
                at -= 1
            yield f"- `{field.target.id}: {ast.unparse(field.annotation)}`: {' '.join(said)}"
    yield ""


def module(path, shown):
    """The public classes and functions of a file."""
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and is_public(node.name, shown):
            yield f"## `{shown}.{node.name}`\n"
            if isinstance(node, ast.FunctionDef):
                yield f"```python\n{signature(node)}\n```\n"
            yield from documented(node)
            if isinstance(node, ast.ClassDef):
                yield from members(node)


def is_public(name, shown):
    """Whether a user finds it there."""
    import foretell

    return name in [*foretell.__all__, *SHADOWING] if shown == "foretell" else not name.startswith("_")


def inherited(node):
    """What a study has of the class that all studies share."""
    if node.name != "Study":
        return []
    own = {inner.name for inner in node.body if isinstance(inner, ast.FunctionDef)}
    shared = next(n for n in ast.parse((PACKAGE / "_search.py").read_text()).body if getattr(n, "name", "") == "Search")
    return [inner for inner in shared.body if isinstance(inner, ast.FunctionDef) and inner.name not in own]


def members(node):
    """The public methods and properties of a class, and how it is made."""
    for inner in [*node.body, *inherited(node)]:
        if not isinstance(inner, ast.FunctionDef) or (inner.name.startswith("_") and inner.name != "__init__"):
            continue
        if any(isinstance(d, ast.Name) and d.id == "property" for d in inner.decorator_list):
            yield f"### `{inner.name}`: {ast.unparse(inner.returns)}\n"
        elif inner.name == "__init__":
            yield f"```python\n{node.name}{signature(inner)[len('__init__') :].removesuffix(' -> None')}\n```\n"
        else:
            yield f"### `{inner.name}`\n\n```python\n{signature(inner)}\n```\n"
        yield from documented(inner)


def signature(node):
    """A signature without `self`, a line an argument if it is long."""
    arguments = ast.unparse(node.args).removeprefix("self, ").removeprefix("self").removeprefix("cls, ")
    line = f"{node.name}({arguments})" + (f" -> {ast.unparse(node.returns)}" if node.returns else "")
    return line if len(line) <= 120 else line.replace(", ", ",\n    ").replace("(", "(\n    ", 1)


def documented(node):
    """Its docstring, numpydoc's headings as bold lines and its parameters as a list."""
    doc = ast.get_docstring(node)
    if doc:
        yield markdown(doc) + "\n"


def markdown(doc):
    """Docstring to Markdown."""
    lines, found, section, code = doc.split("\n"), [], False, False
    for at, line in enumerate(lines):
        if line is None:
            continue
        following = (lines[at + 1] if at + 1 < len(lines) else None) or ""
        if set(line) == {"-"} and line:
            continue
        if set(following) == {"-"} and following:
            section = True
            found += [f"**{line}**", ""]
        elif section and line and not line.startswith(" "):
            found += ["", f"- `{line}`: "] if found[-1] else [f"- `{line}`: "]
        elif line.startswith(">>>") and not code:
            code = True
            found += ["```python", line]
        elif code and not line:
            code = False
            found += ["```", ""]
        elif line == "::":
            found.append("```python")
            code = True
            lines[at + 1] = None
        else:
            found.append(line[4:] if code and line.startswith("    ") else ("  " + line.strip() if section and line else line))
    return "\n".join(found + (["```"] if code else []))


def native(shown):
    """The classes that Rust makes."""
    import foretell

    for kind in (foretell.Forecast, foretell.Decision):
        yield f"## `{shown}.{kind.__name__}`\n\n{inspect.getdoc(kind)}\n"
        for name, member in sorted(vars(kind).items()):
            if not name.startswith("_") and member.__doc__:
                call = f"{name}{member.__text_signature__}".replace("$self, ", "").replace("($self)", "()") if callable(member) else name
                yield f"- `{call}`: {' '.join(inspect.getdoc(member).split())}"
        yield ""


if __name__ == "__main__":
    TARGET.write_text(text())
