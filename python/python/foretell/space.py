"""Search spaces: typed parameters, and those of Optuna and ConfigSpace."""

from __future__ import annotations

import builtins
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any, Protocol, Union

from ._values import cell

#: The largest number of steps to search as choices.
MOST_STEPS = 100


@dataclass(frozen=True)
class Parameter:
    """A parameter of a search space. Create one with `foretell.float`, `log`, `int`, `logint` or `choice`.

    >>> import foretell
    >>> isinstance(foretell.int(1, 8), foretell.Parameter)
    True
    """

    #: `'float'`, `'log'`, `'int'`, `'logint'` or `'choice'`.
    kind: str
    #: The bounds, both included; `None` for a choice.
    lo: builtins.float | None = None
    hi: builtins.float | None = None
    #: The options of a choice.
    options: tuple[Any, ...] = ()
    #: The tests on other parameters. This parameter is searched only if all of them pass.
    conditions: tuple[Mapping[str, Any], ...] = ()

    def when(
        self,
        name: str,
        equals: Any = ...,
        *,
        any_of: Iterable[Any] | None = None,
        none_of: Iterable[Any] | None = None,
        below: builtins.float | None = None,
        at_most: builtins.float | None = None,
        at_least: builtins.float | None = None,
        above: builtins.float | None = None,
    ) -> Parameter:
        """Returns a copy that is searched only if the value of the parameter `name` passes the test. Otherwise, the copy's value is `None`.

        With several tests, or several calls of `when`, all of them must pass.

        >>> import foretell
        >>> foretell.float(0, 0.99).when("optimizer", "sgd").conditions
        ({'name': 'optimizer', 'equals': 'sgd'},)
        >>> foretell.int(8, 256).when("layers", at_least=3).when("optimizer", any_of=["sgd", "rmsprop"]).conditions
        ({'name': 'layers', 'at_least': 3}, {'name': 'optimizer', 'any_of': ['sgd', 'rmsprop']})
        """
        compared = {"below": below, "at_most": at_most, "at_least": at_least, "above": above}
        listed = {"any_of": any_of, "none_of": none_of}
        test: dict[str, Any] = {} if equals is ... else {"equals": equals}
        test.update((key, list(values)) for key, values in listed.items() if values is not None)
        test.update((key, _item(value)) for key, value in compared.items() if value is not None)
        if not test:
            raise TypeError(
                f"when({name!r}) has no test. Add a value, or any_of, none_of, below, at_most, at_least or above, "
                f"for example when({name!r}, at_least=3)"
            )
        return replace(self, conditions=(*self.conditions, {"name": name, **test}))

    @property
    def condition(self) -> tuple[str, Any] | None:
        """The name and value of the first condition, if it asks for one value.

        >>> import foretell
        >>> foretell.float(0, 0.99).when("optimizer", "sgd").condition
        ('optimizer', 'sgd')
        """
        first = next(iter(self.conditions), {})
        return (first["name"], first["equals"]) if "equals" in first else None

    def has(self, value: Any) -> bool:
        """Whether `value` is within the parameter's range or among its options.

        >>> import foretell
        >>> foretell.int(1, 8).has(9)
        False
        """
        if self.kind == "choice":
            return any(_same(option, value) for option in self.options)
        assert self.lo is not None and self.hi is not None
        return _is_number(value) and self.lo <= value <= self.hi

    def sample(self, random: Random) -> Any:
        """A random value.

        >>> import foretell, random
        >>> foretell.log(1e-4, 1).has(foretell.log(1e-4, 1).sample(random.Random(0)))
        True
        """
        if self.kind == "choice":
            return random.choice(self.options)
        assert self.lo is not None and self.hi is not None
        if self.kind == "int":
            return random.randint(builtins.int(self.lo), builtins.int(self.hi))
        if self.kind == "float":
            return random.uniform(self.lo, self.hi)
        value = math.exp(random.uniform(math.log(self.lo), math.log(self.hi)))
        return min(max(round(value) if self.kind == "logint" else value, self.lo), self.hi)


def float(lo: builtins.float, hi: builtins.float) -> Parameter:  # noqa: A001
    """A real number from `lo` to `hi`.

    >>> import foretell
    >>> foretell.float(0, 0.9).kind
    'float'
    """
    return _range("float", _number(lo, "lo"), _number(hi, "hi"))


def log(lo: builtins.float, hi: builtins.float) -> Parameter:
    """A real number from `lo` to `hi`, searched on a logarithmic scale. `lo` must be above 0.

    >>> import foretell
    >>> foretell.log(1e-4, 1).lo
    0.0001
    """
    return _range("log", _number(lo, "lo"), _number(hi, "hi"))


def int(lo: builtins.int, hi: builtins.int) -> Parameter:  # noqa: A001
    """An integer from `lo` to `hi`, both included.

    >>> import foretell
    >>> foretell.int(1, 8).has(8)
    True
    """
    return _range("int", _whole(lo, "lo"), _whole(hi, "hi"))


def logint(lo: builtins.int, hi: builtins.int) -> Parameter:
    """An integer from `lo` to `hi`, searched on a logarithmic scale. `lo` must be at least 1.

    >>> import foretell
    >>> foretell.logint(16, 1024).kind
    'logint'
    """
    return _range("logint", _whole(lo, "lo"), _whole(hi, "hi"))


def choice(*options: Any) -> Parameter:
    """One of `options`, which can be any objects. A single list contains the options: `choice([32, 64])`.

    >>> import foretell
    >>> foretell.choice([32, 64]).options
    (32, 64)
    """
    if len(options) == 1 and isinstance(options[0], (list, set, frozenset, range)):
        options = tuple(options[0])
    if not options:
        raise ValueError("choice() needs at least one option, for example choice('sgd', 'adam')")
    return Parameter("choice", options=tuple(map(_item, options)))


def _range(kind: str, lo: builtins.float, hi: builtins.float) -> Parameter:
    """A parameter with bounds."""
    least = {"log": 0.0, "logint": 1.0}.get(kind)
    if not (math.isfinite(lo) and math.isfinite(hi)):
        raise ValueError(f"{kind}({lo!r}, {hi!r}): the bounds must be finite numbers")
    if lo > hi:
        raise ValueError(f"{kind}({lo!r}, {hi!r}): the lower bound comes first, and must not be above the upper one")
    if least is not None and (lo < least or lo == 0):
        raise ValueError(f"{kind}({lo!r}, {hi!r}): the lower bound must be {'at least 1' if least else 'above 0'}, because the scale is logarithmic")
    return Parameter(kind, lo, hi)


class _Distribution(Protocol):
    """A distribution of Optuna."""

    def single(self) -> bool: ...


class _Hyperparameter(Protocol):
    """A hyperparameter of ConfigSpace."""

    @property
    def default_value(self) -> Any: ...


#: How a parameter may be written.
ParameterLike = Union[Parameter, str, Mapping[str, Any], Sequence[Any], _Distribution, _Hyperparameter]
#: How a space may be written: parameters by name, also a ConfigSpace's `ConfigurationSpace`.
SpaceLike = Union[Mapping[str, ParameterLike], str]


class Space:
    """A space as the core reads it, and back from its configurations to the user's values."""

    def __init__(self, given: Any) -> None:
        #: As the core reads it: a list of typed parameters, or a name.
        self.written: Any = given
        #: Of parameters with options: from the core's value to the user's.
        self._options: dict[str, dict[Any, Any]] = {}
        #: Those that are real numbers.
        self._reals: set[str] = set()
        if isinstance(given, (list, tuple)) and all(isinstance(one, Mapping) and "name" in one for one in given):
            # as `settings["space"]` of a study
            given = {one["name"]: {key: of for key, of in one.items() if key != "name"} for one in given}
        if isinstance(given, Mapping):
            self.written = [self._take(name, of) for name, of in _parameters(given).items()]
            for one in self.written:
                self._encode_conditions(one)
        elif given is not None and not isinstance(given, str):
            raise TypeError(f"space must be a dict of parameters by name, for example {{'lr': foretell.log(1e-4, 1)}}, not {given!r}")

    def join(self, name: str, parameter: Parameter) -> bool:
        """Takes in one more parameter; `False` if there is one of this name."""
        if any(one["name"] == name for one in self.written):
            return False
        self.written = [*self.written, self._take(name, parameter)]
        self._encode_conditions(self.written[-1])
        return True

    def chosen(self, name: str, options: Sequence[Any], value: Any) -> Any:
        """The option that the core's `value` stands for, where the space does not know the options of a choice."""
        return value if name in self._options else _named(name, options).get(value, value)

    def _take(self, name: str, given: Parameter | str | Mapping[str, Any]) -> Any:
        """A parameter as the core reads it."""
        if isinstance(given, str):
            return f"{name}={given}"
        if isinstance(given, Mapping):
            return {"name": name, **given}
        fields: dict[str, Any] = {"name": name, "kind": given.kind}
        if given.kind == "choice":
            named = _named(name, given.options)
            fields["options"] = list(named)
            self._options[name] = named
        else:
            fields.update(lo=given.lo, hi=given.hi)
        if given.conditions:
            fields["active_if"] = [dict(one) for one in given.conditions]
        return fields

    def _encode_conditions(self, written: Any) -> None:
        """Turns the user's values in the conditions of a parameter into those of the core, once all parameters are known."""
        if not isinstance(written, dict) or not isinstance(written.get("active_if"), list):
            return
        for test in written["active_if"]:
            named = self._options.get(test["name"], {})

            def encode(value: Any, named: Mapping[Any, Any] = named) -> Any:
                return next((label for label, option in named.items() if _same(option, value)), _item(value))

            if "equals" in test:
                test["equals"] = encode(test["equals"])
            for key in ("any_of", "none_of"):
                if key in test:
                    test[key] = [encode(value) for value in test[key]]

    def stored(self, written: Any) -> None:
        """Takes the space as parsed by the core, which shows the parameters that are real numbers."""
        self.written = written if self.written is None else self.written
        if isinstance(written, list):
            self._reals = {one["name"] for one in written if one["kind"] in ("float", "log")}

    def decoded(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """A configuration of the core in the user's values."""
        return {name: self._decoded(name, value) for name, value in config.items()}

    def _decoded(self, name: str, value: Any) -> Any:
        if value is None:
            return None
        if name in self._reals:
            return builtins.float(value)
        return self._options.get(name, {}).get(value, value)

    def encoded(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """A configuration in the user's values as the core has it."""
        return {name: self._encoded(name, value) for name, value in config.items()}

    def queued(self, config: Any) -> Any:
        """A configuration to try, whole or in part, as the core reads it."""
        return self.encoded(config) if isinstance(config, Mapping) else config

    def _encoded(self, name: str, value: Any) -> Any:
        value = _item(value)
        named = self._options.get(name)
        if named is None:
            return value
        known = next((label for label, option in named.items() if _same(option, value)), None)
        if known is None:
            raise ValueError(f"{value!r} is not an option of {name}. Its options: {', '.join(map(repr, named.values()))}")
        return known


def listed(queued: Any) -> Sequence[Any]:
    """Configurations to try: one is a list of one."""
    return list(queued) if isinstance(queued, Sequence) and not isinstance(queued, str) else [queued]


def _parameters(given: Mapping[str, Any]) -> dict[str, Parameter | str | Mapping[str, Any]]:
    """The parameters of a space, those of other tools as ours."""
    if type(given).__module__.split(".")[0] == "ConfigSpace":
        return _of_configspace(given)
    return {name: _parameter(name, of) for name, of in given.items()}


def _parameter(name: str, given: Any) -> Parameter | str | Mapping[str, Any]:
    if isinstance(given, (Parameter, str)):
        return given
    if isinstance(given, Mapping):
        if not isinstance(given.get("kind"), str):
            raise TypeError(f"parameter {name}: {given!r} has no kind. Use foretell.log(1e-4, 1), or a dict such as {{'kind': 'log', 'lo': 1e-4, 'hi': 1}}")
        return given
    tool = type(given).__module__.split(".")[0]
    if tool == "optuna":
        return _of_optuna(name, given)
    if tool == "ConfigSpace":
        return _hyperparameter(given)
    if isinstance(given, tuple) and len(given) == 2 and all(map(_is_number, given)):
        raise TypeError(
            f"parameter {name}: {given!r} may be a range or two options. For a range, use foretell.float{given!r} or "
            f"foretell.log{given!r}. For options, use a list"
        )
    if isinstance(given, (list, tuple, set, frozenset)):
        return choice(*given)
    if isinstance(given, range) and given.step == 1 and len(given):
        return int(given.start, given.stop - 1)
    raise TypeError(
        f"parameter {name}: {given!r} is not a parameter. Use foretell.log(1e-4, 1), foretell.int(1, 8), foretell.choice('sgd', 'adam') "
        "or a string such as 'log:1e-4:1'"
    )


def _of_optuna(name: str, given: Any) -> Parameter:
    """A distribution of Optuna."""
    if hasattr(given, "choices"):
        return choice(*given.choices)
    whole = type(given).__name__.startswith("Int")
    step = getattr(given, "step", None)
    if step is not None and not (whole and step == 1):
        return stepped(name, given.low, given.high, step)
    if whole:
        return logint(given.low, given.high) if given.log else int(given.low, given.high)
    return log(given.low, given.high) if given.log else float(given.low, given.high)


def stepped(name: str, low: Any, high: Any, step: Any) -> Parameter:
    """A range with steps, as the list of its values."""
    if not step > 0 or not high >= low:
        raise ValueError(f"parameter {name}: the range from {low} to {high} in steps of {step} is empty")
    count = round((high - low) / step) + 1
    if count > MOST_STEPS:
        raise ValueError(f"parameter {name}: {count} steps of {step} are too many for a choice. Leave out the step")
    values = [low + at * step for at in range(count)]
    return choice(*[round(value, 12) if isinstance(value, builtins.float) else value for value in values])


def _named(name: str, options: Iterable[Any]) -> dict[Any, Any]:
    """The options by their values in the core: numbers and strings unchanged; for other objects, strings that are unique and the same in
    every process."""
    options = list(options)
    plain = all(isinstance(one, str) for one in options) or all(_is_number(one) for one in options)
    named = {one if plain else _label(one): one for one in options}
    if len(named) < len(options):
        raise ValueError(f"parameter {name}: two of its options are equal, or have the same text: {', '.join(map(repr, options))}")
    return named


def _label(option: Any) -> str:
    if isinstance(option, str):
        return option
    if isinstance(option, (bool, type(None), builtins.int, builtins.float)):
        return str(option).lower() if isinstance(option, bool) else str(option)
    try:
        # a written list of options is separated by commas
        return json.dumps(option, sort_keys=True).replace(",", ";")
    except (TypeError, ValueError):
        return re.sub(r"\s+", " ", str(cell(option))).replace(",", ";")


def _same(a: Any, b: Any) -> bool:
    return a is b or (type(a) is type(b) or (_is_number(a) and _is_number(b))) and bool(a == b)


def _is_number(value: Any) -> bool:
    return isinstance(value, (builtins.int, builtins.float)) and not isinstance(value, bool)


def _item(value: Any) -> Any:
    """A number of NumPy as one of Python."""
    return value.item() if type(value).__module__ == "numpy" and hasattr(value, "item") and getattr(value, "ndim", 1) == 0 else value


def _number(value: Any, what: str) -> builtins.float:
    if isinstance(value, str):
        raise TypeError(f"{what} must be a number, not {value!r}")
    return builtins.float(value)


def _whole(value: Any, what: str) -> builtins.int:
    if isinstance(value, str) or value != builtins.int(value):
        raise TypeError(f"{what} must be a whole number, not {value!r}. For real numbers, use float or log")
    return builtins.int(value)


def _of_configspace(space: Any) -> dict[str, Any]:
    """The parameters of a `ConfigurationSpace` with their conditions."""
    if getattr(space, "forbidden_clauses", None):
        raise ValueError(
            "forbidden clauses of a ConfigurationSpace are not supported. Leave them out, and let the objective fail for forbidden "
            "configurations"
        )
    found = {name: _hyperparameter(one) for name, one in space.items()}
    for condition in space.conditions:
        for part in getattr(condition, "components", [condition]):
            found[part.child.name] = found[part.child.name].when(part.parent.name, **_test_of(condition, part))
    return found


def _test_of(whole: Any, part: Any) -> dict[str, Any]:
    """The test of a condition, or of one part of a conjunction, as `Parameter.when` takes it."""
    kind = type(part).__name__
    if kind not in _CONFIGSPACE_TESTS or type(whole).__name__ == "OrConjunction":
        known = ", ".join(_CONFIGSPACE_TESTS)
        raise ValueError(f"{whole} is not supported. Use {known}, alone or in an AndConjunction")
    if kind == "InCondition":
        return {"any_of": part.values}
    if kind in ("LessThanCondition", "GreaterThanCondition") and hasattr(part.parent, "sequence"):
        sequence, place = list(part.parent.sequence), list(part.parent.sequence).index(part.value)
        return {"any_of": sequence[:place] if kind == "LessThanCondition" else sequence[place + 1 :]}
    if kind == "NotEqualsCondition":
        return {"none_of": [part.value]}
    return {_CONFIGSPACE_TESTS[kind]: part.value}


#: The tests of ConfigSpace and their names here.
_CONFIGSPACE_TESTS = {
    "EqualsCondition": "equals",
    "NotEqualsCondition": "none_of",
    "InCondition": "any_of",
    "LessThanCondition": "below",
    "GreaterThanCondition": "above",
}


def _hyperparameter(given: Any) -> Parameter:
    """A hyperparameter of ConfigSpace as a parameter, without importing ConfigSpace."""
    kind = type(given).__name__
    if kind in ("UniformFloatHyperparameter", "UniformIntegerHyperparameter"):
        whole = kind == "UniformIntegerHyperparameter"
        make = (logint if given.log else int) if whole else (log if given.log else float)
        return make(given.lower, given.upper)
    if kind == "CategoricalHyperparameter":
        return choice(*given.choices)
    if kind == "OrdinalHyperparameter":
        return choice(*given.sequence)
    if kind == "Constant":
        return choice(given.value)
    raise TypeError(f"parameter {given.name}: {kind} is not supported. Use Uniform…, Categorical…, Ordinal… or Constant")
