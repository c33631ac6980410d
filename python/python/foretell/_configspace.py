"""Spaces of ConfigSpace. Nothing of ConfigSpace is imported: its objects say what they are."""

from __future__ import annotations

from typing import Any

from .space import Parameter, choice, float, int, log, logint


def parameters(space: Any) -> dict[str, Any]:
    """The parameters of a `ConfigurationSpace`, each after the one that it depends on."""
    if getattr(space, "forbidden_clauses", None):
        raise ValueError(
            "the ConfigurationSpace has forbidden clauses, which are not known here; leave them out, and let the objective "
            "fail for what is forbidden"
        )
    found = {name: parameter(one) for name, one in space.items()}
    for condition in space.conditions:
        child, parent, value = condition_of(condition)
        if found[child].condition is not None:
            raise ValueError(f"parameter {child} has several conditions; one is known here")
        found[child] = found[child].when(parent, value)
    ordered: dict[str, Any] = {}
    while len(ordered) < len(found):
        # a ConfigurationSpace has no circles
        ready = [n for n, of in found.items() if n not in ordered and (of.condition is None or of.condition[0] in ordered)]
        ordered.update((name, found[name]) for name in ready)
    return ordered


def condition_of(condition: Any) -> tuple[str, str, Any]:
    """Child, parent and value of a condition that one value fulfils."""
    kind = type(condition).__name__
    if kind == "EqualsCondition":
        return condition.child.name, condition.parent.name, condition.value
    if kind == "InCondition" and len(condition.values) == 1:
        return condition.child.name, condition.parent.name, condition.values[0]
    raise ValueError(f"{condition}: only conditions on one value of another parameter are known here (EqualsCondition)")


def parameter(given: Any) -> Parameter:
    """A hyperparameter."""
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
    raise TypeError(f"parameter {given.name}: {kind} is not known here; use Uniform…, Categorical…, Ordinal… or Constant")
