"""The rules of the catalogue, found by looking."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from dataclasses import replace
from functools import cache

from pyrometer.explain import catalogue
from pyrometer.explain.rule import Rule


@cache
def every_rule() -> tuple[Rule, ...]:
    """Find the rules: ``RULE`` of each module of a folder of the catalogue, by their codes.

    Examples
    --------
    >>> all("." in rule.code and rule.manual for rule in every_rule())
    True
    """
    found = []
    for folder in pkgutil.iter_modules(catalogue.__path__, f"{catalogue.__name__}."):
        package = importlib.import_module(folder.name)
        for module in pkgutil.iter_modules(package.__path__, f"{folder.name}."):
            known = importlib.import_module(module.name)
            found.append(replace(known.RULE, manual=inspect.cleandoc(known.__doc__ or "")))
    return tuple(sorted(found, key=lambda rule: rule.code))
