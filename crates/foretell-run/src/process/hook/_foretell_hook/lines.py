"""Only for `init`: which statement printed each line, inside which loops, in one order over both streams."""
import builtins
import io
import os
import sys

emit, is_own, trouble, held, variables = hook.emit, hook.is_own, hook.trouble, hook.held, hook.variables  # noqa: F821
ENTRIES = {}

#: after so many lines, of one statement or in all, more show nothing new. Those of a statement are then recorded each time that their number doubles.
FIRST = 32
LIMIT = 5000
#: a constant of Python (ast.PyCF_ONLY_AST): compile() returns the tree, without the module ast
ONLY_AST = 0x400
_tables = {}
_loops = {}
_seen = {}
_count = [0]
_open = io.open


def children(node):
    """The nodes directly inside a node."""
    for name in node._fields:
        part = getattr(node, name, None)
        for inner in part if isinstance(part, list) else (part,):
            if hasattr(inner, "_fields"):
                yield inner


def walk(node):
    """A node and all nodes inside it."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(children(node))


def kind(node):
    return type(node).__name__


def expression(node):
    """An expression that can be evaluated without running anything of the script; None for all others."""
    if kind(node) in ("Constant", "Num"):
        return ("value", node.value)
    if kind(node) == "Name":
        return ("name", node.id)
    if kind(node) == "Attribute" and kind(node.value) == "Name":
        return ("attribute", node.value.id, node.attr)
    if kind(node) == "BinOp" and kind(node.op) in ("Add", "Sub"):
        return (kind(node.op), expression(node.left), expression(node.right))
    return None


def described(node):
    """A loop: the lines of its body, the name of its counter, and the arguments of its range."""
    counter, arguments = None, None
    if kind(node) == "For":
        counter = next((inner.id for inner in walk(node.target) if kind(inner) == "Name"), "")
        ranges = (n for n in walk(node.iter) if kind(n) == "Call" and getattr(n.func, "id", "") in ("range", "trange"))
        arguments = next(([expression(argument) for argument in call.args] for call in ranges), None)
    return node.body[0].lineno, node.body[-1].end_lineno, counter, arguments


def table(path):
    """The loops of a file. Its tree isn't kept, because that of a long script takes many megabytes."""
    if path not in _tables:
        try:
            with _open(path, "rb") as file:
                tree = compile(file.read(), path, "exec", ONLY_AST, True)
            nodes = list(walk(tree))
            # `vars()` returns the dict of a function's variables, which reading a variable would change
            is_readable = not any(kind(node) == "Call" and getattr(node.func, "id", "") == "vars" and not node.args for node in nodes)
            _tables[path] = [described(node) + (is_readable,) for node in nodes if kind(node) in ("For", "While", "AsyncFor")]
        except Exception:
            _tables[path] = []
    return _tables[path]


def loops_around(path, line):
    """The loops around a line, outermost first."""
    if (path, line) not in _loops:
        _loops[path, line] = sorted((loop for loop in table(path) if loop[0] <= line <= loop[1]), key=lambda loop: loop[0])
    return _loops[path, line]


def names(term):
    """The variables in an expression."""
    if term is None or term[0] == "value":
        return []
    return [term[1]] if term[0] in ("name", "attribute") else names(term[1]) + names(term[2])


def known(term, space):
    """The whole number that an expression stands for, read from the variables in `space`; None if that isn't possible."""
    how = term and term[0]
    if how == "value":
        got = term[1]
    elif how == "name":
        got = space.get(term[1])
    elif how == "attribute":
        got = held(space.get(term[1]), term[2])
    elif how in ("Add", "Sub"):
        left, right = known(term[1], space), known(term[2], space)
        got = None if left is None or right is None else left + right if how == "Add" else left - right
    else:
        got = None
    return got if type(got) is int else None


def loop(around, frame):
    """One loop: its text, the value of its counter, and how often it will run, where that can be seen."""
    _, _, counter, arguments, is_readable = around
    if counter is None:
        return dict(text="while")
    wanted = [counter] + [name for term in arguments or () for name in names(term)]
    space = variables(frame, wanted) if is_readable or sys.version_info >= (3, 13) else {}
    now = space.get(counter)
    out = dict(text=counter, now=now if type(now) is int else None)
    got = [known(term, space) for term in arguments or ()]
    if got and None not in got:
        numbers = range(*got)
        out.update(first=numbers.start, of=len(numbers))
    return out


def tell(text, frame, **more):
    _count[0] += 1
    if _count[0] > LIMIT:
        return
    loops, site = [], None
    while frame is not None:
        path = frame.f_code.co_filename
        if is_own(path):
            site = site or "%s:%d" % (os.path.basename(path), frame.f_lineno)
            loops = [loop(around, frame) for around in loops_around(path, frame.f_lineno)] + loops
        frame = frame.f_back
    emit("line", n=_count[0], site=site, loops=loops, text=text[:2000], **more)


def is_sampled(frame, stream):
    """Whether the line of this statement is recorded."""
    if stream is not sys.stdout and stream is not sys.stderr or stream is None:
        return False
    place = (id(frame.f_code), frame.f_lasti)
    seen = _seen[place] = _seen.get(place, 0) + 1
    return seen <= FIRST or not seen & (seen - 1)


def tell_printed(pieces, frame):
    try:
        tell("".join(pieces).rstrip("\r\n"), frame)
    except Exception as error:
        trouble("lines.print", error)


def logged(_, self, record, *__, **___):
    """The message without what the formatter puts around it: formatting it a second time could change what the script logs next."""
    stream = held(self, "stream")
    frame = sys._getframe(2)
    while frame is not None and frame.f_code.co_filename.startswith(hook.STANDARD):  # noqa: F821
        frame = frame.f_back
    if frame is not None and is_sampled(frame, stream):
        text = held(record, "message")
        if type(text) is str:
            tell(text, frame, part=True)


ENTRIES["logging"] = [("StreamHandler.emit", logged, False)]
hook.load("importlib_bootstrap").stand_in(builtins.print, is_sampled, tell_printed)  # noqa: F821
