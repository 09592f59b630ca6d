"""Tables of counts that are safe to release: cells counted in the database, small ones suppressed, and the proof."""

import sys
from importlib import import_module
from types import ModuleType
from typing import Any


class _Verb(ModuleType):
    """The folder has the name of its verb: ``sqlanon.counts(…)`` is that, whatever was imported before."""

    def __call__(self, *args: Any, **options: Any) -> Any:
        return import_module(f"{__name__}.verb").counts(*args, **options)


sys.modules[__name__].__class__ = _Verb
