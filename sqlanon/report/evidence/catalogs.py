"""The texts of a pack that are data: known attacks, limitations, identifiers. They stand as YAML beside this module."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

import yaml
from jinja2 import Environment, StrictUndefined

from sqlanon.report.wording import shown


@cache
def catalog(name: str) -> Mapping[str, Any]:
    """Return the document of a catalog: ``attacks``, ``limitations`` or ``safe_harbor``."""
    text = files("sqlanon.report.evidence").joinpath("texts", f"{name}.yaml").read_text(encoding="utf-8")
    document: Mapping[str, Any] = yaml.safe_load(text)
    return document


def sentence(template: str, figures: Mapping[str, Any]) -> str:
    """Return a text of a catalog with its figures."""
    environment = Environment(undefined=StrictUndefined)
    environment.globals["shown"] = shown
    return environment.from_string(template).render(figures)
