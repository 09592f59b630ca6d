"""A test that leaves something behind in its process fails, whatever it is, and the next test does not find it."""

import logging
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from left_behind import nothing_left_behind

from sqlanon.core.source import frames

CHANGES: dict[str, Callable[[], object]] = {
    "environment: SQLANON_TEST_LEFT": lambda: os.environ.update(SQLANON_TEST_LEFT="secret"),
    "environment: PATH": lambda: os.environ.pop("PATH"),
    "process: working directory": lambda: os.chdir("/"),
    "process: umask": lambda: os.umask(0o123),
    "process: sys.path": lambda: sys.path.append("/nowhere"),
    "process: SIGTERM": lambda: signal.signal(signal.SIGTERM, lambda *_: None),
    "logging: handlers": lambda: logging.root.addHandler(logging.NullHandler()),
    "sqlanon.core.source.frames.KINDS: its entries": frames.KINDS.clear,
    "sqlanon.core.source.frames.KINDS": lambda: setattr(frames, "KINDS", {}),
}


@pytest.mark.parametrize("what", CHANGES)
def test_what_a_test_leaves_behind_is_named_and_put_back(
    what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with nothing_left_behind(names=True):
        with pytest.raises(AssertionError, match="did not change it back") as raised, nothing_left_behind(names=True):
            CHANGES[what]()
        assert str(raised.value).endswith(f": {what}") and "secret" not in str(raised.value)


def test_what_is_put_back_is_no_fault() -> None:
    with nothing_left_behind(names=True), pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", "40")
        patch.setattr(frames, "KINDS", {})
