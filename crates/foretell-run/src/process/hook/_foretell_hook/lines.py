"""Only for `init`: which statement printed each line, inside which loops, in one order over both streams."""
import ast
import builtins
import functools
import logging
import os
import sys

from . import emit, is_own, trouble

#: longer outputs show nothing new
LIMIT = 5000
_trees = {}
_count = [0]
_print = builtins.print
_logged = logging.StreamHandler.emit


def tree(path):
    if path not in _trees:
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                _trees[path] = ast.parse(file.read())
        except Exception:
            _trees[path] = ast.Module([], [])
    return _trees[path]


@functools.lru_cache(None)
def loops_around(path, line):
    """The loops around a line, outermost first."""
    kinds = (ast.For, ast.While, ast.AsyncFor)
    inside = lambda node: isinstance(node, kinds) and node.body[0].lineno <= line <= node.body[-1].end_lineno  # noqa: E731
    return sorted((node for node in ast.walk(tree(path)) if inside(node)), key=lambda node: node.lineno)


def known(node, frame):
    """The whole number that an expression stands for, found without running anything of the script; None if that is not possible."""
    if isinstance(node, ast.Constant):
        got = node.value
    elif isinstance(node, ast.Name):
        got = frame.f_locals.get(node.id, frame.f_globals.get(node.id))
    elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        owner = frame.f_locals.get(node.value.id, frame.f_globals.get(node.value.id))
        got = getattr(owner, "__dict__", {}).get(node.attr)
    elif isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
        left, right = known(node.left, frame), known(node.right, frame)
        got = None if left is None or right is None else left + right if isinstance(node.op, ast.Add) else left - right
    else:
        got = None
    return got if type(got) is int else None


def loop(node, frame):
    """One loop: its text, the value of its counter, and how often it will run, where that can be seen."""
    if not isinstance(node, ast.For):
        return dict(text="while")
    names = [n.id for n in ast.walk(node.target) if isinstance(n, ast.Name)]
    now = frame.f_locals.get(names[0]) if names else None
    out = dict(text=names[0] if names else "", now=now if type(now) is int else None)
    ranges = [n for n in ast.walk(node.iter) if isinstance(n, ast.Call) and getattr(n.func, "id", "") in ("range", "trange")]
    if ranges:
        got = [known(a, frame) for a in ranges[0].args]
        if got and None not in got:
            numbers = range(*got)
            out.update(first=numbers.start, of=len(numbers))
    return out


def tell(text, frame):
    _count[0] += 1
    if _count[0] > LIMIT:
        return
    loops, site = [], None
    while frame is not None:
        path = frame.f_code.co_filename
        if is_own(path) and os.path.exists(path):
            site = site or "%s:%d" % (os.path.basename(path), frame.f_lineno)
            loops = [loop(node, frame) for node in loops_around(path, frame.f_lineno)] + loops
        frame = frame.f_back
    emit("line", n=_count[0], site=site, loops=loops, text=text[:2000])


def shown(value):
    """As it was printed. The script's own objects are not asked a second time."""
    return str(value) if type(value).__module__ != "__main__" else "?"


@functools.wraps(_print)
def watched(*values, **k):
    _print(*values, **k)
    try:
        out = k.get("file")
        if out is None or out in (sys.stdout, sys.stderr):
            separator = k.get("sep")
            tell((" " if separator is None else separator).join(map(shown, values)), sys._getframe(1))
    except Exception as error:
        trouble("lines.print", error)


@functools.wraps(_logged)
def logged(self, record):
    _logged(self, record)
    try:
        if getattr(self, "stream", None) in (sys.stdout, sys.stderr):
            tell(self.format(record), sys._getframe(1))
    except Exception as error:
        trouble("lines.logging", error)


builtins.print = watched
logging.StreamHandler.emit = logged
