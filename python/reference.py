"""Writes docs/reference/python.md from the docstrings: `python python/reference.py`. Needs the package, but none of the tools."""

import ast
import inspect
import itertools
import json
import re
from pathlib import Path

HERE = Path(__file__).parent
PACKAGE = HERE / "python" / "foretell"
TARGET = HERE.parent / "docs" / "reference" / "python.md"
#: Modules in the order of the page, and the names that users import them by.
MODULES = {
    "study": "foretell",
    "_records": "foretell",
    "_search": "foretell",
    "space": "foretell",
    "remote": "foretell",
    "watch": "foretell",
    "judge": "foretell",
    "forecaster": "foretell",
    "_foretell": "foretell",
    "load": "foretell",
    "measure": "foretell",
    "optuna": "foretell.optuna",
    "ray": "foretell.ray",
    "_callback": "foretell",
    "keras": "foretell.keras",
    "lightning": "foretell.lightning",
    "transformers": "foretell.transformers",
    "xgboost": "foretell.xgboost",
    "lightgbm": "foretell.lightgbm",
    "sklearn": "foretell.sklearn",
}
#: Public names that are not in `__all__`, because they would replace Python's own.
SHADOWING = ["float", "int"]
#: Hooks, which only the tool calls, are left out.
HOOK = " calls this"
HEAD = """# The Python package

This page is generated from the docstrings. [Use Foretell from Python](../how-to/python.md) is the guide.
"""
SETTINGS = """## Settings

`Study` and `connect` accept these settings, which are flags of [`foretell search`]({search}). `Judge`, the pruner, the scheduler and the
callbacks accept those of the stop rule.
"""


def text():
    """The page."""
    parts = [HEAD]
    for name, shown in MODULES.items():
        parts += native(shown) if name == "_foretell" else callbacks() if name == "_callback" else module(PACKAGE / f"{name}.py", shown)
    return "\n".join([*parts, *settings(), *versions()])


def settings():
    """The names and types of all settings of a study."""
    yield SETTINGS.format(search="commands/search.md")
    for field in named(PACKAGE / "_settings.py", "StudySettings").body:
        if isinstance(field, ast.AnnAssign):
            yield f"- `{field.target.id}: {ast.unparse(field.annotation).removesuffix(' | None')}`"
    yield ""


def fields(node, path):
    """The fields of a record, with their comments."""
    lines, found = path.read_text().splitlines(), []
    for field in node.body:
        if isinstance(field, ast.AnnAssign) and not field.target.id.startswith("_"):
            comment = lines[field.lineno - 2].strip()
            found.append(f"- `{field.target.id}: {ast.unparse(field.annotation)}`" + (f": {comment[3:]}" if comment.startswith("#: ") else ""))
    return [*found, ""] if found else []


def versions():
    """The versions of other packages that the tests last passed with."""
    kept = json.loads((HERE / "tests" / "versions.json").read_text())
    pythons = " and ".join(sorted({of_package["python"] for of_package in kept.values()}))
    yield f"## Tested versions\n\n`scripts/test-python all` runs the tests of each tool every night. They last passed on Python {pythons} with these versions:\n"
    yield from (f"- {name} {of_package['version']}" for name, of_package in kept.items())
    yield ""


def named(path, name):
    """The class of this name in a file."""
    return next(node for node in ast.parse(path.read_text()).body if getattr(node, "name", "") == name)


def module(path, shown):
    """The public classes and functions of a file."""
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and is_public(node.name, shown):
            yield f"## `{shown}.{node.name}`\n"
            if isinstance(node, ast.FunctionDef):
                yield f"```python\n{signature(node)}\n```\n"
            yield from documented(node)
            if isinstance(node, ast.ClassDef):
                yield from fields(node, path)
                yield from members(node)


def callbacks():
    """The parameters of all callbacks, and their public members."""
    base = named(PACKAGE / "_callback.py", "Callback")
    yield "## Callbacks\n"
    yield from members(base, "ForetellCallback")


def is_public(name, shown):
    """Whether users import this name from the module."""
    import foretell

    return name in [*foretell.__all__, *SHADOWING] if shown == "foretell" else not name.startswith("_")


def inherited(node):
    """The methods that a study inherits from the base of all studies."""
    if node.name != "Study":
        return []
    own = {inner.name for inner in node.body if isinstance(inner, ast.FunctionDef)}
    shared = named(PACKAGE / "_search.py", "Search")
    return [inner for inner in shared.body if isinstance(inner, ast.FunctionDef) and inner.name not in own]


def members(node, name=None):
    """The constructor and the public methods and properties of a class. A constructor that users do not call is left out."""
    doc = ast.get_docstring(node) or ""
    for inner in [*node.body, *inherited(node)]:
        if not isinstance(inner, ast.FunctionDef) or (inner.name.startswith("_") and inner.name != "__init__"):
            continue
        if node.name in ("RemoteStudy", "FinishedStudy") and inner.name in ("best", "done"):
            continue  # as in Study
        own = ast.get_docstring(inner) or ""
        if HOOK in own or (inner.name == "__init__" and re.search(r"Create one with|FinishedStudy|A trial of a study|as `pickle.loads`", doc)):
            continue
        if any(isinstance(d, ast.Name) and d.id == "property" for d in inner.decorator_list):
            yield f"### `{inner.name}: {ast.unparse(inner.returns)}`\n"
        elif inner.name == "__init__":
            yield f"```python\n{(name or node.name) + signature(inner).removeprefix('__init__').removesuffix(' -> None')}\n```\n"
        else:
            whole = signature(inner)
            yield f"### `{inner.name}`\n\n```python\n{whole}\n```\n" if "\n" in whole else f"### `{whole}`\n"
        yield from documented(inner)


def signature(node):
    """A signature without `self`, with one argument per line if it is long."""
    listed, end = list(arguments(node.args)), f" -> {ast.unparse(node.returns)}" if node.returns else ""
    line = f"{node.name}({', '.join(listed)}){end}"
    return line if len(line) <= 100 else f"{node.name}(\n    " + ",\n    ".join(listed) + f",\n){end}"


def arguments(given):
    """The arguments of a function as they are written."""
    without = len(given.args) - len(given.defaults)
    for argument, default in zip(given.args, [None] * without + given.defaults):
        if argument.arg not in ("self", "cls"):
            yield written(argument, default)
    if given.vararg:
        yield f"*{written(given.vararg)}"
    elif given.kwonlyargs:
        yield "*"
    yield from itertools.starmap(written, zip(given.kwonlyargs, given.kw_defaults))
    if given.kwarg:
        yield f"**{written(given.kwarg)}"


def written(argument, default=None):
    """An argument with its type and default."""
    return ast.unparse(argument) + (f" = {ast.unparse(default)}" if default is not None else "")


def documented(node):
    """The docstring in Markdown."""
    doc = ast.get_docstring(node)
    if doc:
        yield markdown(doc) + "\n"


def markdown(doc):
    """A docstring in Markdown: examples become code, and the parameters of a numpydoc section a list."""
    parts = re.split(r"(?m)^(\w+)\n-{3,}\n", doc)
    found = [fenced(parts[0])]
    for heading, body in zip(parts[1::2], parts[2::2]):
        found += [f"**{heading}**", listed(body)]
    return "\n\n".join(found)


def fenced(prose):
    """Examples as code blocks. A reader of this page has imported the package."""
    prose = re.sub(r"(?m)^>>> import foretell\n", "", prose.rstrip() + "\n")
    return re.sub(r"(?m)^(>>>.*\n(?:.+\n?)*)", lambda code: f"```python\n{code[0].rstrip()}\n```\n", prose).rstrip()


def listed(section):
    """A list with one item for each parameter."""
    items = re.findall(r"(?m)^(\S.*)\n((?:(?: .*)?\n)*)", section.rstrip() + "\n")
    return "\n".join(f"- `{name}`: {inspect.cleandoc(body).replace(chr(10), chr(10) + '  ')}" for name, body in items).replace("\n  \n", "\n\n")


def native(shown):
    """The classes written in Rust."""
    import foretell

    for kind in (foretell.Forecast, foretell.Decision):
        yield f"## `{shown}.{kind.__name__}`\n\n{markdown(inspect.getdoc(kind))}\n"
        for name, member in sorted(vars(kind).items()):
            if not name.startswith("_") and member.__doc__:
                call = f"{name}{member.__text_signature__}".replace("$self, ", "").replace("($self)", "()") if callable(member) else name
                yield f"- `{call}`: {' '.join(inspect.getdoc(member).split())}"
        yield ""
    yield f"## `{shown}.predictors`\n\n```python\npredictors() -> list[str]\n```\n\n{markdown(inspect.getdoc(foretell.predictors))}\n"


if __name__ == "__main__":
    TARGET.write_text(text())
