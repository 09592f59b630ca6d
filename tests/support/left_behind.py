"""What a test may change in its process only if it changes it back: other tests would find it, in whichever order."""

import locale
import logging
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

OF_OTHERS = {"PYTEST_CURRENT_TEST", "_RJEM_MALLOC_CONF"}
"""Variables that pytest sets for each test, and Polars when it is imported."""

SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGPIPE", "SIGCHLD")
           if hasattr(signal, name)]  # fmt: skip


def _environment() -> dict[str, Any]:
    return {name: text for name, text in os.environ.items() if name not in OF_OTHERS}


def _process() -> dict[str, Any]:
    mask = os.umask(0o077)
    os.umask(mask)
    try:
        folder = os.getcwd()
    except FileNotFoundError:  # a test before has removed it
        folder = ""
    return {
        "working directory": folder,
        "umask": mask,
        "locale": locale.setlocale(locale.LC_ALL),
        "sys.path": tuple(sys.path),
        "sys.argv": tuple(sys.argv),
        "sys.excepthook": sys.excepthook,
        "threading.excepthook": threading.excepthook,
        "sys.recursionlimit": sys.getrecursionlimit(),
        **{number.name: signal.getsignal(number) for number in SIGNALS},
    }


def _logging() -> dict[str, Any]:
    handlers = [each for each in logging.root.handlers if not type(each).__module__.startswith("_pytest")]
    return {"handlers": handlers, "level": logging.root.level, "disabled": logging.root.manager.disable}


def _package() -> dict[str, dict[str, Any]]:
    """Return what the names in the package's modules stand for, by module."""
    return {name: vars(sys.modules[name]).copy() for name in [*sys.modules] if name.startswith("sqlanon")}


_registries: list[tuple[str, Any, Any]] = []
"""The dictionaries, lists and sets that stand in the package's modules: a name, the registry, and a copy."""
_looked_at: set[str] = set()
"""The modules whose registries these are."""
_imported = 0
"""How many modules there were when registries were looked for."""


def _entries() -> list[tuple[str, Any, Any]]:
    """Return the registries of the package: a name, the registry, and a copy of it as it was when it was imported."""
    global _imported
    if len(sys.modules) != _imported:
        _imported = len(sys.modules)
        for module in [name for name in sys.modules if name.startswith("sqlanon") and name not in _looked_at]:
            named = vars(sys.modules[module]).items()
            found = {name: value for name, value in named if type(value) in (dict, list, set) and name[:2] != "__"}
            _registries.extend((f"{module}.{name}", value, value.copy()) for name, value in found.items())
            _looked_at.add(module)
    return _registries


@contextmanager
def nothing_left_behind(*, names: bool = False) -> Iterator[None]:
    """Fail where what runs inside leaves something changed; it is put back first.

    Args:
        names: also look at what every name in the package stands for, which takes two milliseconds.

    Raises:
        AssertionError: something is changed. It says what, and shows no value.
    """
    states = {"environment": _environment, "process": _process, "logging": _logging}
    before, package = {name: take() for name, take in states.items()}, _package() if names else {}
    entries = [*_entries()]
    yield
    changed = [f"{name}: {key}" for name, take in states.items() for key in _differences(before[name], take())]
    if changed:
        _put_back(before)
    for name, registry, copy in entries:
        if registry != copy:
            changed.append(f"{name}: its entries")
            _refill(registry, copy)
    for module, was in package.items():
        now = vars(sys.modules[module]) if module in sys.modules else was
        if was != now:  # a module gains names as others are imported
            for key in _differences(was, {key: now[key] for key in now.keys() & was.keys()}):
                changed.append(f"{module}.{key}")
                now[key] = was[key]
    if changed:
        raise AssertionError(f"A test changed what others share, and did not change it back: {', '.join(changed)}")


def _refill(registry: Any, entries: Any) -> None:
    registry.clear()
    if isinstance(registry, list):
        registry.extend(entries)
    else:
        registry.update(entries)


def _differences(was: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """Return the names that stand for something else, or for nothing, before or after."""
    return [name for name in was | now if name not in was or name not in now or not _same(was[name], now[name])]


def _same(one: object, other: object) -> bool:
    """Return whether two values are one object or equal, where a comparison says so."""
    if one is other:
        return True
    try:
        return type(one) is type(other) and bool(one == other)
    except Exception:  # arrays and the like say neither yes nor no
        return False


def _put_back(before: dict[str, dict[str, Any]]) -> None:
    """Put back what stands in the environment, in the process and in logging."""
    if _environment() != before["environment"]:
        for name in {*os.environ} - OF_OTHERS - before["environment"].keys():
            del os.environ[name]
        os.environ.update(before["environment"])
    process, now = before["process"], _process()
    if process != now:
        os.chdir(process["working directory"] or "/")
        os.umask(process["umask"])
        locale.setlocale(locale.LC_ALL, process["locale"])
        sys.path[:], sys.argv[:] = process["sys.path"], process["sys.argv"]
        for number in SIGNALS:
            if process[number.name] is not now[number.name] and process[number.name] is not None:
                signal.signal(number, process[number.name])
    if _logging() != before["logging"]:
        for handler in [each for each in _logging()["handlers"] if each not in before["logging"]["handlers"]]:
            logging.root.removeHandler(handler)
        logging.root.setLevel(before["logging"]["level"])
        logging.disable(before["logging"]["disabled"])
