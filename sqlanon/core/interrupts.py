"""Interrupts (Ctrl-C, and what the command line takes for one): where they stop work, and where they wait.

A signal is handled in the main thread, when that runs Python. So a call that does not return soon is made in another
thread (``interruptible``), and what must not be cut in two holds interrupts back (``held``, ``finishing``).
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from functools import cache
from types import FrameType
from typing import Any, TypeVar

from sqlanon.errors import Interrupted

Answer = TypeVar("Answer")

SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
"""The signals that may interrupt; Windows lacks the last."""
LOOK = 0.1
"""Seconds between two looks whether a signal came: one that another thread received does not wake this one."""
AGAIN = 0.2
"""Seconds after which work that has not ended is cancelled again: it may not have begun the first time."""


def interruptible(work: Callable[[], Answer], cancel: Callable[[], object] = lambda: None) -> Answer:
    """Return what ``work`` returns, or raise what it raises; an interrupt cancels it, and is raised when it has ended.

    Args:
        work: called in another thread, unless this is not the main thread, where no interrupt arrives, or Python ends.
        cancel: makes ``work`` end soon; it may be called several times, and when there is nothing to cancel. By
            default an interrupt waits for its end.
    """
    if not _in_main_thread() or not threading.main_thread().is_alive():
        return work()
    try:
        with held():  # it has begun when an interrupt is raised, or it would be waited for in vain
            future = _worker(os.getpid()).submit(work)
        while not future.done():
            with suppress(TimeoutError):
                future.exception(LOOK)
    except BaseException:
        while not future.done():  # a second interrupt does not leave it behind
            with suppress(KeyboardInterrupt):
                with suppress(Exception):
                    cancel()
                wait([future], AGAIN)
        raise
    return future.result()


@cache
def _worker(process: int) -> ThreadPoolExecutor:
    """Return the thread in which work is done, one for all work: to start another takes longer than a statement."""
    return ThreadPoolExecutor(1, thread_name_prefix=f"sqlanon {process}")


@contextmanager
def held() -> Iterator[None]:
    """Let an interrupt wait until the block has ended, and raise it then."""
    hold = _Hold()
    hold.begin()
    try:
        yield
    finally:
        hold.end()
        hold.deliver()


@contextmanager
def finishing(message: str) -> Iterator[None]:
    """Let the block end whole once ``no_return`` was called in it.

    Raises:
        Interrupted: an interrupt came after that; what was to be published is, as ``message`` says.
    """
    if not _in_main_thread():
        yield
        return
    hold = _Hold()
    _open.append(hold)
    try:
        yield
    finally:
        _open.remove(hold)
        hold.end()
    try:
        hold.deliver()
    except KeyboardInterrupt:
        raise Interrupted(message, published=True) from None


def no_return() -> None:
    """Let interrupts wait from here to the end of the block of ``finishing``: what follows puts a release in place."""
    if _open and _in_main_thread():
        _open[-1].begin()


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


class _Hold:
    """Signals that wait: their handlers, and those that arrived, in order."""

    def __init__(self) -> None:
        self._handlers: dict[int, Any] = {}
        self._arrived: list[int] = []

    def begin(self) -> None:
        """Let signals wait that have a handler in Python."""
        if self._handlers or not _in_main_thread():
            return
        for number in SIGNALS:
            handler = signal.getsignal(number)
            if callable(handler):
                self._handlers[number] = handler
                signal.signal(number, self._note)

    def _note(self, number: int, _: FrameType | None) -> None:
        self._arrived.append(number)

    def end(self) -> None:
        """Give the signals back to their handlers."""
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        self._handlers = {}

    def deliver(self) -> None:
        """Send the first of the signals that arrived again, to its handler."""
        if self._arrived:
            signal.raise_signal(self._arrived[0])


_open: list[_Hold] = []
"""The blocks of ``finishing`` that run, the inner ones last. Signals belong to the process, and so does this."""
