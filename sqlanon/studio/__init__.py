"""The studio: a page on this machine that goes from a table to a policy and an audited release, with its costs."""

import sys
from importlib import import_module
from types import ModuleType
from typing import Any


class _Verb(ModuleType):
    """The folder has the name of its verb: ``sqlanon.studio(…)`` is that, whatever was imported before."""

    def __call__(self, *args: Any, **options: Any) -> Any:
        return import_module(f"{__name__}.verb").studio(*args, **options)


sys.modules[__name__].__class__ = _Verb
