"""Only for `init`: the options of a script, from the objects that parse them. One entry per library."""
import os
import sys

from . import emit, is_own

ENTRIES = {}
#: options with these words in their names, or at their ends, are left out altogether
SECRET = {"password", "passwd", "passphrase", "secret", "secrets", "credential", "credentials"}
SECRET_ENDS = {"token", "tokens", "key", "keys", "auth", "pat"}


def on(module, target, before=False):
    def add(handler):
        ENTRIES.setdefault(module, []).append((target, handler, before))
        return handler

    return add


def is_secret(option):
    names = [str(option["dest"])] + [str(flag) for flag in option["flags"]]
    for words in (name.lower().replace("-", "_").replace(".", "_").strip("_=").split("_") for name in names):
        if SECRET & set(words) or words[-1] in SECRET_ENDS:
            # `max_new_tokens` and `vocab_tokens` are numbers
            if SECRET & set(words) or not isinstance(option["default"], (int, float)):
                return True
    return False


def plain(value):
    """A value that JSON can hold: of enums their values, of functions and classes their names."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return getattr(value, "value", value) if isinstance(value, str) else value
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(v) for v in value]
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if hasattr(value, "value") and hasattr(value, "name"):
        return plain(value.value) if not callable(value.value) else value.name
    return getattr(value, "__name__", None) or str(value)


def word(value):
    """A value as the command line takes it: of an enum that prints as its name, the name."""
    return [word(v) for v in value] if isinstance(value, (list, tuple)) else str(value) if hasattr(value, "name") and hasattr(value, "value") else plain(value)


def option(flags, dest, **known):
    """An option with the fields that a library does not have."""
    usual = dict(off=[], type=None, default=None, choices=None, range=None, nargs=None, action="store", required=False, help=None, level=[], own=None, value=None)
    return dict(usual, flags=flags, dest=dest, **known)


def tell(source, options, used=(), error=None, groups=None):
    main = sys.modules.get("__main__")
    script = getattr(main, "__file__", None) or (sys.argv[0] if getattr(sys, "argv", None) else "")
    emit(
        "options",
        source=source,
        script=os.path.abspath(script) if script else "",
        used=list(used),
        error=error,
        groups=groups or {},
        options=[o for o in options if not is_secret(o)],
    )


# argparse, and what is built on it: HfArgumentParser, simple-parsing, jsonargparse
_reached = set()
_own = {}


@on("argparse", "_ActionsContainer.add_argument")
def added(result, *_, **__):
    """Who asked for this option: the script, or a library for all scripts."""
    frame, found = sys._getframe(3), None
    parsers = ("argparse.py", os.path.join("_foretell_hook", "__init__.py"))
    while frame is not None and found is None:
        path = frame.f_code.co_filename
        asked = frame.f_locals.get("function_or_class") if os.sep + "jsonargparse" + os.sep in path else None
        if isinstance(asked, type) and is_own(getattr(sys.modules.get(asked.__module__), "__file__", None) or ""):
            found = True  # jsonargparse was asked for the arguments of the script's own class
        elif not path.endswith(parsers) and os.sep + "jsonargparse" + os.sep not in path:
            found = is_own(path)
        frame = frame.f_back
    _own[id(result)] = (result, bool(found))


def own_fields(parser):
    """HfArgumentParser: the options of the script's own dataclasses."""
    names = set()
    for kind in getattr(parser, "dataclass_types", None) or ():
        if is_own(getattr(sys.modules.get(kind.__module__), "__file__", None) or ""):
            names |= set(kind.__dataclass_fields__)
    return names


def listed(a):
    """Its choices. jsonargparse has them in the type alone, or names them as `{sgd,adam}` where a value stands in the help."""
    kind = getattr(a, "_typehint", None)
    if a.choices is None and "Literal" in str(getattr(kind, "__origin__", "")):
        return [plain(choice) for choice in kind.__args__]
    if a.choices is None and isinstance(a.metavar, str) and a.metavar[:1] + a.metavar[-1:] == "{}":
        return a.metavar[1:-1].split(",")
    return None if a.choices is None else word(list(a.choices))


def is_item_list(a):
    """A list that jsonargparse takes as one word."""
    return a.metavar == "[ITEM,...]" or getattr(getattr(a, "_typehint", None), "__origin__", None) in (list, tuple)


def action(a, level, given):
    kind = type(a).__name__.strip("_").replace("Action", "").lower()
    return option(
        list(a.option_strings),
        a.dest,
        type=plain(a.type) or plain(getattr(a, "_typehint", None)),
        default=word(a.default),
        nargs="[ITEM,...]" if is_item_list(a) else plain(a.nargs),
        choices=listed(a),
        action=kind,
        required=bool(a.required),
        help=a.help if isinstance(a.help, str) and a.help != "==SUPPRESS==" else None,
        level=level,
        value=word(getattr(given, a.dest, None)),
    )


def walk(parser, level, given):
    out, theirs, defaults = [], own_fields(parser), getattr(parser, "_defaults", {})
    for a in parser._actions:
        kind = type(a).__name__
        if kind == "_SubParsersAction" or hasattr(a, "_name_parser_map"):
            seen = set()
            for name, sub in a.choices.items():
                if id(sub) not in seen:
                    seen.add(id(sub))
                    out += walk(sub, level + [name], given)
        elif kind not in ("_HelpAction", "_VersionAction"):
            found = dict(action(a, level, given), own=_own.get(id(a), (a, None))[1] or a.dest in theirs)
            out.append(dict(found, default=word(defaults[a.dest])) if a.dest in defaults else found)
    return out


def used(parser):
    """The sub-commands that were parsed, outermost first."""
    for a in parser._actions:
        for name, sub in (getattr(a, "_name_parser_map", None) or {}).items():
            if id(sub) in _reached:
                return [name] + used(sub)
    return []


@on("argparse", "_SubParsersAction.__call__", before=True)
def sub_command(self, parser, namespace, values, option_string=None):
    _reached.add(id(self._name_parser_map.get(values[0])))


@on("argparse", "ArgumentParser.parse_known_args")
def parsed(result, self, *_, **__):
    if id(self) not in _reached:  # the inner call for a sub-command is part of the outer one
        tell("argparse", walk(self, [], result[0]), used(self))


@on("argparse", "ArgumentParser.error", before=True)
def refused(self, message="", *_, **__):
    tell("argparse", walk(self, [], None), used(self), error=str(message))


@on("jsonargparse._core", "ArgumentParser.parse_args")
def jsonargparse(result, self, *_, **__):
    flat = {}

    def spread(prefix, space):
        for name, v in list(getattr(space, "items", dict)()):
            flat[prefix + name] = v
            if hasattr(v, "items") and not isinstance(v, dict):
                spread(prefix + name + ".", v)

    spread("", result)
    names = [flat["subcommand"]] if isinstance(flat.get("subcommand"), str) else []
    prefix = ".".join(names) + "." if names else ""
    options = walk(self, [], None)
    tell("jsonargparse", [dict(o, value=plain(flat.get(prefix + o["dest"], flat.get(o["dest"])))) for o in options], names)


# click and typer
def click_option(p, level):
    kind = getattr(p, "type", None) or getattr(getattr(p, "type_descriptor", None), "annotation", None)  # click; typer
    default = p.default() if callable(p.default) else p.default
    bounds = p if hasattr(p, "min") else kind
    choices = list(kind.choices) if hasattr(kind, "choices") else [m.value for m in kind] if hasattr(kind, "__members__") else None
    return option(
        list(getattr(p, "opts", [])) if type(p).__name__.endswith("Option") else [],
        p.name,
        off=list(getattr(p, "secondary_opts", [])),
        type=getattr(kind, "name", None) or getattr(kind, "__name__", None),
        default=plain(default) if "Sentinel" not in type(default).__name__ else None,
        choices=choices and plain(choices),
        range=[getattr(bounds, "min", None), getattr(bounds, "max", None)],
        required=bool(p.required),
        action="flag" if getattr(p, "is_flag", False) else "store",
        nargs="+" if getattr(p, "multiple", False) else p.nargs,
        help=getattr(p, "help", None),
        level=level,
        own=p.name not in ("install_completion", "show_completion"),  # typer's, for all scripts
    )


def click_walk(command, level):
    out = [click_option(p, level) for p in command.params]
    for name, sub in (getattr(command, "commands", None) or {}).items():
        out += click_walk(sub, level + [name])
    return out


def click_used(command, words):
    """The sub-commands among the words of the command line, outermost first."""
    for at, name in enumerate(words):
        sub = (getattr(command, "commands", None) or {}).get(name)
        if sub is not None:
            return [name] + click_used(sub, words[at + 1 :])
    return []


def click(self, args=None, *_, **__):
    tell("click", click_walk(self, []), click_used(self, list(sys.argv[1:] if args is None else args)))


for _module, _classes in (("click.core", ("BaseCommand", "Command")), ("typer.core", ("TyperCommand", "TyperGroup"))):
    for _class in _classes:
        on(_module, _class + ".main", before=True)(click)


# absl
@on("absl.flags._flagvalues", "FlagValues.__call__")
def absl(result, self, argv, *_, **__):
    own = {f.name for f in self.get_key_flags_for_module(argv[0])} | {f.name for f in self.get_key_flags_for_module("__main__")}
    out = []
    for module, flags in self.flags_by_module_dict().items():
        for f in flags:
            if f.name in own or module == argv[0]:
                out.append(
                    option(
                        ["--" + f.name] + (["-" + f.short_name] if f.short_name else []),
                        f.name,
                        type=f.flag_type(),
                        default=plain(f.default),
                        choices=plain(getattr(f.parser, "enum_values", None)),
                        help=f.help,
                        value=plain(f.value),
                        action="flag" if f.boolean else "store",
                        range=[getattr(f.parser, "lower_bound", None), getattr(f.parser, "upper_bound", None)],
                        own=True,
                    )
                )
    tell("absl", out)


# fire: the signature is the parser
def signature(component, level):
    import inspect

    out = []
    if isinstance(component, dict):
        for name, part in component.items():
            out += signature(part, level + [str(name)]) if callable(part) or isinstance(part, dict) else []
        return out
    for p in inspect.signature(component).parameters.values():
        if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY):
            bare = p.default is p.empty
            kind = plain(p.annotation) if p.annotation is not p.empty else None if bare else type(p.default).__name__
            out.append(option(["--" + p.name], p.name, type=kind, default=None if bare else plain(p.default), required=bare, level=level, own=True))
    for name, method in inspect.getmembers(component, inspect.isfunction) if inspect.isclass(component) else []:
        if not name.startswith("_"):
            out += [o for o in signature(method, level + [name]) if o["dest"] != "self"]
    return out


@on("fire.core", "Fire", before=True)
def fire(component=None, *_, **__):
    if component is None:
        main = vars(sys.modules["__main__"]).items()
        component = {k: v for k, v in main if callable(v) and getattr(v, "__module__", "") == "__main__"}
    options = signature(component, [])
    names = {name for o in options for name in o["level"]}
    tell("fire", options, [name for name in sys.argv[1:] if name in names])


# hydra and OmegaConf: the configuration is the parser
def leaves(tree, prefix=""):
    out = []
    for name, v in tree.items() if isinstance(tree, dict) else []:
        if isinstance(v, dict):
            out += leaves(v, prefix + str(name) + ".")
        else:
            dest = prefix + str(name)
            out.append(option([dest], dest, type=type(v).__name__, default=plain(v), required=v == "???", value=plain(v), action="assign", own=True))
    return out


@on("hydra.core.utils", "run_job", before=True)
def hydra(task_function=None, config=None, *_, **__):
    from omegaconf import OmegaConf

    tree = OmegaConf.to_container(config, resolve=False)
    chosen = ((tree.pop("hydra", None) or {}).get("runtime") or {}).get("choices") or {}
    tell("hydra", leaves(tree), groups={g: c for g, c in chosen.items() if not g.startswith("hydra/")})


_from_cli = []


@on("omegaconf.omegaconf", "OmegaConf.from_cli")
def from_cli(result, *_, **__):
    _from_cli.append(result)


@on("omegaconf.omegaconf", "OmegaConf.merge")
def merged(result, *parts, **__):
    if any(part is cli for part in parts for cli in _from_cli):
        from omegaconf import OmegaConf

        tell("omegaconf", leaves(OmegaConf.to_container(result, resolve=False)))


# tyro: a dataclass or a function is the parser
def fields(target, prefix=""):
    import dataclasses
    import inspect
    import typing

    bare, is_kind = inspect.Parameter.empty, inspect.isclass(target)
    try:
        hints = typing.get_type_hints(target if is_kind or inspect.isfunction(target) else type(target))
    except Exception:
        hints = {}
    if not dataclasses.is_dataclass(target):
        items = [(p.name, p.default) for p in inspect.signature(target).parameters.values()]
    elif is_kind:
        made = dataclasses.MISSING
        items = [(f.name, f.default if f.default is not made else f.default_factory() if f.default_factory is not made else bare) for f in dataclasses.fields(target)]
    else:
        items = [(f.name, getattr(target, f.name)) for f in dataclasses.fields(target)]
    out = []
    for name, default in items:
        kind = hints.get(name)
        inner = next((t for t in (default, kind) if dataclasses.is_dataclass(t)), None)
        if inner is not None:
            out += fields(inner, prefix + name + ".")
            continue
        choices = list(typing.get_args(kind)) if typing.get_origin(kind) is getattr(typing, "Literal", "") else None
        if inspect.isclass(kind) and hasattr(kind, "__members__"):
            choices = list(kind.__members__)
        flag = "--" + (prefix + name).replace("_", "-")
        off = ["--" + (prefix + "no_" + name).replace("_", "-")] if kind is bool else []
        out.append(
            option(
                [flag],
                prefix + name,
                off=off,
                type=plain(kind),
                default=None if default is bare else plain(default),
                choices=choices and plain(choices),
                required=default is bare,
                action="flag" if kind is bool else "store",
                nargs="+" if isinstance(default, (list, tuple)) else None,
                own=True,
            )
        )
    return out


@on("tyro._cli", "cli", before=True)
def tyro(f=None, *_, default=None, **__):
    tell("tyro", fields(f if default is None or not hasattr(default, "__dataclass_fields__") else default))
