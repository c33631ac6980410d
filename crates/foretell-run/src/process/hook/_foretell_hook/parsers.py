"""Only for `init`: the options of a script from other libraries that parse them. One entry per library."""
import sys
from _weakref import ref as weakref

options = hook.load("options")  # noqa: F821
held, pairs, text, is_own_kind = hook.held, hook.pairs, hook.text, hook.is_own_kind  # noqa: F821
LISTS, FUNCTIONS = options.LISTS, options.FUNCTIONS
choices, is_enum, kind_name, members, option, plain, tell, word = (
    options.choices, options.is_enum, options.kind_name, options.members, options.option, options.plain, options.tell, options.word
)
ENTRIES = {}


def on(module, target, before=False):
    return options.on(module, target, before, ENTRIES)


# click and typer
def click_option(p, level):
    kind = held(p, "type") or held(held(p, "type_descriptor"), "annotation")  # click; typer
    default, is_class, name = held(p, "default"), issubclass(type(kind), type), held(p, "name")  # a function as default is not called
    bounds = p if held(p, "min") is not None or held(p, "max") is not None else kind
    offered = kind if is_enum(kind) else None if is_class else held(kind, "choices")
    return option(
        list(held(p, "opts") or []) if type(p).__name__.endswith("Option") else [],
        name,
        off=list(held(p, "secondary_opts") or []),
        type=kind_name(kind) if is_class else held(kind, "name"),
        default=plain(default) if "Sentinel" not in type(default).__name__ and type(default) not in FUNCTIONS else None,
        choices=choices(offered, offered),
        range=[None, None] if is_class else [plain(held(bounds, "min")), plain(held(bounds, "max"))],
        required=bool(held(p, "required")),
        action="flag" if held(p, "is_flag") else "store",
        nargs="+" if held(p, "multiple") else plain(held(p, "nargs")),
        level=level,
        own=name not in ("install_completion", "show_completion"),  # typer's, for all scripts
    )


def click_walk(command, level):
    out = [click_option(p, level) for p in held(command, "params") or ()]
    for name, sub in pairs(held(command, "commands")):
        out += click_walk(sub, level + [name])
    return out


def click_used(command, words):
    """The sub-commands among the words of the command line, outermost first."""
    for at, name in enumerate(words):
        sub = dict(pairs(held(command, "commands"))).get(name)
        if sub is not None:
            return [name] + click_used(sub, words[at + 1 :])
    return []


def click(self, args=None, *_, **__):
    tell("click", click_walk(self, []), click_used(self, list(sys.argv[1:] if args is None else args if type(args) in LISTS else ())))


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
                        default=plain(held(f, "default")),
                        choices=choices(held(f.parser, "enum_values")),
                        value=plain(held(f, "value")),
                        action="flag" if f.boolean else "store",
                        range=[plain(held(f.parser, "lower_bound")), plain(held(f.parser, "upper_bound"))],
                        own=True,
                    )
                )
    tell("absl", out)


# fire: the signature is the parser
def signature(component, level):
    out = []
    if issubclass(type(component), dict):
        for name, part in pairs(component):
            out += signature(part, level + [text(name)])
        return out
    if issubclass(type(component), type):
        functions = {name: part for owner in reversed(component.__mro__) for name, part in vars(owner).items() if type(part) is FUNCTIONS[0]}
        out = parameters(functions.get("__init__"), level)
        for name, function in sorted(functions.items()):
            out += parameters(function, level + [name]) if not name.startswith("_") else []
        return [o for o in out if o["dest"] != "self"]
    return parameters(component, level)


def parameters(function, level):
    """The arguments of a function as options."""
    import inspect

    out = []
    if type(function) is not FUNCTIONS[0]:
        return out
    for p in inspect.signature(function).parameters.values():
        if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY):
            bare = p.default is p.empty
            kind = kind_name(p.annotation) if p.annotation is not p.empty else None if bare else type(p.default).__name__
            out.append(option(["--" + p.name], p.name, type=kind, default=None if bare else plain(p.default), required=bare, level=level, own=True))
    return out


@on("fire.core", "Fire", before=True)
def fire(component=None, *_, **__):
    if component is None:
        main = vars(sys.modules["__main__"]).items()
        component = {k: v for k, v in main if type(v) is FUNCTIONS[0] and v.__module__ == "__main__" or issubclass(type(v), type) and is_own_kind(v)}
    elif not issubclass(type(component), (dict, type)) and type(component) is not FUNCTIONS[0]:
        component = type(component)  # an object: its methods
    options = signature(component, [])
    names = {name for o in options for name in o["level"]}
    tell("fire", options, [name for name in sys.argv[1:] if name in names])


# hydra and OmegaConf: the configuration is the parser
def leaves(tree, prefix=""):
    out = []
    for name, v in pairs(tree):
        if issubclass(type(v), dict):
            out += leaves(v, prefix + text(name) + ".")
        else:
            dest = prefix + text(name)
            out.append(option([dest], dest, type=type(v).__name__, default=plain(v), required=type(v) is str and v == "???", value=plain(v), action="assign", own=True))
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
    _from_cli.append(weakref(result))


@on("omegaconf.omegaconf", "OmegaConf.merge")
def merged(result, *parts, **__):
    if any(part is cli() for part in parts for cli in _from_cli):
        from omegaconf import OmegaConf

        tell("omegaconf", leaves(OmegaConf.to_container(result, resolve=False)))


# tyro: a dataclass or a function is the parser
def hints(target):
    """The types of the fields or arguments. Texts are evaluated as tyro does, unless that would call a function of the script again."""
    import typing

    classes = target.__mro__ if issubclass(type(target), type) else (target,)
    annotations = {name: kind for owner in reversed(classes) for name, kind in (getattr(owner, "__annotations__", None) or {}).items()}
    if any(type(kind) is str and "(" in kind for kind in annotations.values()):
        return {}
    try:
        return typing.get_type_hints(target)
    except Exception:
        return {}


def fields(target, prefix=""):
    """The options of a dataclass, of one of its objects, or of a function. A default that a function makes is left out."""
    import dataclasses
    import inspect

    bare, made = inspect.Parameter.empty, dataclasses.MISSING
    source = target if issubclass(type(target), type) or type(target) is FUNCTIONS[0] else type(target)
    if not dataclasses.is_dataclass(source):
        items = [(p.name, p.default) for p in inspect.signature(source).parameters.values()]
    elif target is source:
        items = [(f.name, bare if f.default is f.default_factory is made else f.default_factory if f.default is made else f.default) for f in dataclasses.fields(source)]
    else:
        items = [(f.name, held(target, f.name)) for f in dataclasses.fields(source)]
    known, out = hints(source), []
    for name, default in items:
        kind = known.get(name)
        inner = next((t for t in (default, kind) if dataclasses.is_dataclass(t)), None)
        out += [field(prefix + name, kind, default, default is bare)] if inner is None else fields(inner, prefix + name + ".")
    return out


def field(name, kind, default, is_bare):
    """One option of tyro."""
    import typing

    is_flag, is_list = kind is bool, default in (list, tuple) or type(default) in (list, tuple)
    offered = typing.get_args(kind) if typing.get_origin(kind) is getattr(typing, "Literal", "") else None
    if is_enum(kind):
        offered = list(members(kind))
    is_made = is_bare or issubclass(type(default), (type, *FUNCTIONS))
    return option(
        ["--" + name.replace("_", "-")],
        name,
        off=["--" + ".".join([*name.split(".")[:-1], "no_" + name.split(".")[-1]]).replace("_", "-")] if is_flag else [],
        type=kind_name(kind),
        default=None if is_made else word(default),
        choices=choices(offered),
        required=is_bare,
        action="flag" if is_flag else "store",
        nargs="+" if is_list else None,
        own=True,
    )


@on("tyro._cli", "cli", before=True)
def tyro(f=None, *_, default=None, **__):
    tell("tyro", fields(f if default is None or not hasattr(type(default), "__dataclass_fields__") else default))
