"""Only for `init`: the options of a script that argparse parses, and what is built on it: HfArgumentParser, simple-parsing, jsonargparse."""
import os
import sys

is_own, held, text = hook.is_own, hook.held, hook.text  # noqa: F821
is_own_kind, pairs, variables = hook.is_own_kind, hook.pairs, hook.variables  # noqa: F821
ENTRIES = {}
#: options with these words in their names, or at their ends, are left out altogether; Foretell's table names them
SECRET, SECRET_ENDS = (set(filter(None, words.split(","))) for words in os.environ.get("FORETELL_HOOK_SECRETS", ";").split(";"))
SECRETS = SECRET | SECRET_ENDS
#: values that are their own words, and of which no part belongs to the script
ATOMS = ("pathlib", "decimal", "fractions", "datetime", "uuid", "numpy", "torch")
LISTS = (list, tuple, set, frozenset, range, type({}.keys()), type({}.values()))
PLAIN = {str, int, float, bool, type(None)}
FUNCTIONS = (type(lambda: 0), type(len))
_attribute = object.__getattribute__
_name = type.__dict__["__name__"].__get__


def on(module, target, before=False, entries=ENTRIES):
    def add(handler):
        entries.setdefault(module, []).append((target, handler, before))
        return handler

    return add


def is_secret(dest, flags, default):
    listed = [name.lower().replace("-", "_").replace(".", "_").strip("_=").split("_") for name in (dest, *flags)]
    for words in listed:
        if not SECRET.isdisjoint(words) or words[-1] in SECRET_ENDS:
            # `max_new_tokens` and `vocab_tokens` are numbers
            if not SECRET.isdisjoint(words) or not isinstance(default, (int, float)):
                return True
    return False


def is_enum(kind):
    """Whether a class is an enum."""
    return issubclass(type(kind), getattr(sys.modules.get("enum"), "EnumMeta", ()))


def members(kind):
    """The members of an enum by their names."""
    return type.__getattribute__(kind, "_member_map_")


def plain(value):
    """A value that JSON can hold: of enums their values, of functions and classes their names. None for the script's own objects."""
    kind = type(value)
    if kind in PLAIN:
        return value
    if is_enum(kind):
        return plain(_attribute(value, "__dict__").get("_value_"))
    if issubclass(kind, float):
        return float.__float__(value)
    if kind in LISTS:
        return [plain(v) for v in value]
    if issubclass(kind, (list, tuple)):
        return [plain(v) for v in (list if issubclass(kind, list) else tuple).__iter__(value)]
    if issubclass(kind, dict):
        return {text(k): plain(v) for k, v in dict.items(value)}
    if issubclass(kind, str):
        return str.__str__(value)
    if issubclass(kind, int):
        return int.__int__(value)
    if issubclass(kind, type):
        return _name(value)
    if kind in FUNCTIONS:
        return value.__name__
    is_atom = type.__getattribute__(kind, "__module__").partition(".")[0] in ATOMS and not is_own_kind(kind)
    return str(value) if is_atom else None


def word(value, converted=None):
    """A value as the command line takes it: of an enum its value if the class itself reads the word, and otherwise its name."""
    kind = type(value)
    if kind in LISTS:
        return [word(v, converted) for v in value]
    if is_enum(kind) and converted is not kind and not issubclass(kind, str):
        return plain(_attribute(value, "__dict__").get("_name_"))
    return plain(value)


def choices(value, converted=None):
    """The choices, if they can be listed without running code of the script: not those of a generator, or of a class of the script."""
    if is_enum(value):
        return word(list(members(value).values()), converted)
    if issubclass(type(value), dict):
        return word(list(dict.keys(value)), converted)
    return word(list(value), converted) if type(value) in LISTS else None


def kind_name(thing):
    """The name of the class or function that converts a word."""
    return None if thing is None else plain(thing) if issubclass(type(thing), (type, *FUNCTIONS)) else _name(type(thing))


def option(flags, dest, **known):
    """An option; a field that is left out has its usual value."""
    return dict(known, flags=flags, dest=dest)


def tell(source, options, used=(), error=None, groups=None):
    """Options as dicts of their fields."""
    names = {name for o in options for name in o}
    tell_columns(source, {name: [o.get(name) for o in options] for name in names}, used, error, groups)


def tell_columns(source, columns, used=(), error=None, groups=None):
    """Options as one list per field, which is several times faster to write than one dict per option. Without values, they are the defaults."""
    names = " ".join(map(" ".join, columns.get("flags", ()))) + " ".join(map(text, columns.get("dest", ())))
    if any(word in names.lower() for word in SECRETS):
        rows = zip(columns["dest"], columns["flags"], columns.get("default") or [None] * len(columns["dest"]))
        open_ = [not is_secret(*row) for row in rows]
        columns = {name: [v for v, is_open in zip(column, open_) if is_open] for name, column in columns.items()}
    script = held(sys.modules.get("__main__"), "__file__") or (sys.argv[0] if getattr(sys, "argv", None) else "")
    script = os.path.abspath(script) if script else ""
    more = dict(source=source, script=script, used=list(used), error=error, groups=groups or {})
    hook.emit("options", options=columns, **more)  # noqa: F821


_reached = set()
#: id of an action -> whether the script asked for it; the action itself isn't kept
_own = {}
_places = {}
JSONARGPARSE = os.sep + "jsonargparse" + os.sep


def place(path):
    """Whose a source file is: of a parser, of the script, or of a library."""
    if path not in _places:
        is_parser = path.endswith(("argparse.py", os.path.join("_foretell_hook", "importlib_bootstrap.py"))) or JSONARGPARSE in path
        _places[path] = "parser" if is_parser else is_own(path)
    return _places[path]


@on("argparse", "_ActionsContainer.add_argument")
def added(result):
    """Who asked for this option: the script, or a library for all scripts."""
    frame = sys._getframe(2)
    while frame is not None:
        path = frame.f_code.co_filename
        whose = _places.get(path)
        whose = place(path) if whose is None else whose
        if whose != "parser":
            _own[id(result)] = whose
            return
        if JSONARGPARSE in path:
            asked = variables(frame, ("function_or_class",)).get("function_or_class")
            if issubclass(type(asked), type) and is_own_kind(asked):
                break  # jsonargparse was asked for the arguments of the script's own class
        frame = frame.f_back
    _own[id(result)] = frame is not None


added.needs_only_result = True


def own_fields(parser):
    """HfArgumentParser: the options of the script's own dataclasses."""
    names = set()
    for kind in held(parser, "dataclass_types") or ():
        if is_own_kind(kind):
            names |= set(kind.__dataclass_fields__)
    return names


def listed(given, converted, metavar, hint):
    """The choices. jsonargparse has them in the type alone, or names them as `{sgd,adam}` where a value stands in the help."""
    if given is not None:
        return choices(given, converted)
    if hint is not None and "Literal" in str(held(hint, "__origin__", "")):
        return plain(held(hint, "__args__"))
    return metavar[1:-1].split(",") if type(metavar) is str and metavar[:1] + metavar[-1:] == "{}" else None


def number_of_values(given, metavar, hint):
    """A list that jsonargparse takes as one word is written as its metavar."""
    is_word = metavar == "[ITEM,...]" if type(metavar) is str else hint is not None and held(hint, "__origin__") in (list, tuple)
    return "[ITEM,...]" if is_word else plain(given)


_action_names = {}


def action_name(kind):
    """The name of an action by its class: `store`, `storetrue`, …"""
    name = kind.__name__
    if name not in _action_names:
        _action_names[name] = name.strip("_").replace("Action", "").lower()
    return _action_names[name]


def walk(parser, level=()):
    """The actions of a parser and its sub-commands: each with its level, the defaults of its parser, and the names of the script's own fields."""
    theirs, defaults = own_fields(parser), held(parser, "_defaults") or {}
    for a in held(parser, "_actions", ()):
        kind = type(a).__name__
        names = None if kind in SIMPLE else held(a, "_name_parser_map")
        if names is not None:
            seen = set()
            for name, sub in pairs(names):
                if id(sub) not in seen:
                    seen.add(id(sub))
                    yield from walk(sub, (*level, name))
        elif kind not in ("_HelpAction", "_VersionAction"):
            yield a, level, defaults, theirs


#: actions that are no sub-commands
SIMPLE = {"_StoreAction", "_StoreTrueAction", "_HelpAction"}


def columns(parser, given):
    """The options of a parser, with the values in the dict `given`.

    All fields come from the dicts of the actions, so that no property of a class of the script is asked.
    """
    rows = list(walk(parser))
    fields = [_attribute(row[0], "__dict__") for row in rows]
    dests, converted, hints, metavars, offered, counts, flags = [
        [f.get(name) for f in fields] for name in ("dest", "type", "_typehint", "metavar", "choices", "nargs", "option_strings")
    ]
    defaults = [row[2].get(dest, f.get("default")) for dest, f, row in zip(dests, fields, rows)]
    values = list(map(given.get, dests))
    out = {
        "flags": flags,
        "dest": dests,
        "action": [action_name(type(row[0])) for row in rows],
        "default": [d if type(d) in PLAIN else word(d, c) for d, c in zip(defaults, converted)],
        "own": [_own.get(id(row[0])) or dest in row[3] for row, dest in zip(rows, dests)],
    }
    if any(v is not d for v, d in zip(values, defaults)):
        out["value"] = [v if type(v) in PLAIN else word(v, c) for v, c in zip(values, converted)]
    if any(f.get("required") is True for f in fields):
        out["required"] = [f.get("required") is True for f in fields]
    if any(c is not None for c in converted) or any(h is not None for h in hints):
        out["type"] = [NAMES.get(c) if type(c) is type and c in NAMES else kind_name(c) or kind_name(h) for c, h in zip(converted, hints)]
    if any(row[1] for row in rows):
        out["level"] = [row[1] for row in rows]
    if any(c is not None for c in offered) or any(m is not None for m in metavars) or any(h is not None for h in hints):
        out["choices"] = [listed(*row) for row in zip(offered, converted, metavars, hints)]
        out["nargs"] = [number_of_values(*row) for row in zip(counts, metavars, hints)]
    elif any(c is not None for c in counts):
        out["nargs"] = [plain(c) for c in counts]
    return out


NAMES = {kind: kind.__name__ for kind in (int, float, str, bool)}


def used(parser):
    """The sub-commands that were parsed, outermost first."""
    for a in held(parser, "_actions", ()):
        for name, sub in () if type(a).__name__ in SIMPLE else pairs(held(a, "_name_parser_map")):
            if id(sub) in _reached:
                return [name] + used(sub)
    return []


@on("argparse", "_SubParsersAction.__call__", before=True)
def sub_command(self, parser, namespace, values, option_string=None):
    _reached.add(id(self._name_parser_map.get(values[0])))


@on("argparse", "ArgumentParser.parse_known_args")
def parsed(result, self, *_, **__):
    if id(self) not in _reached:  # the inner call for a sub-command is part of the outer one
        tell_columns("argparse", columns(self, _attribute(result[0], "__dict__")), used(self))


@on("argparse", "ArgumentParser.error", before=True)
def refused(self, message="", *_, **__):
    tell_columns("argparse", columns(self, {}), used(self), error=text(message))


@on("jsonargparse._core", "ArgumentParser.parse_args")
def jsonargparse(result, self, *_, **__):
    flat = {}

    def spread(prefix, space):
        for name, v in list(_attribute(space, "__dict__").items()):
            flat[prefix + name] = v
            if type(v) is type(space):
                spread(prefix + name + ".", v)

    spread("", result)
    names = [flat["subcommand"]] if type(flat.get("subcommand")) is str else []
    prefix = ".".join(names) + "." if names else ""
    found = columns(self, {})
    found["value"] = [plain(flat.get(prefix + dest, flat.get(dest))) for dest in found["dest"]]
    tell_columns("jsonargparse", found, names)
