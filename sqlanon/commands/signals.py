"""Signals of the command line: what a supervisor sends to end a command interrupts it as Ctrl-C does."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType

from sqlanon.core.interrupts import SIGNALS

AGAIN = 0.05
"""Seconds after which an interrupt that Python dropped is raised again."""


@dataclass(slots=True)
class Received:
    """The signal that ended a command."""

    number: int = signal.SIGINT

    @property
    def exit_code(self) -> int:
        """What a shell reports of a process that a signal ended: 130 for SIGINT, 143 for SIGTERM, 129 for SIGHUP."""
        return 128 + self.number


@contextmanager
def as_interrupts() -> Iterator[Received]:
    """Raise KeyboardInterrupt at SIGINT, SIGTERM and SIGHUP, and note which it was.

    A signal that is ignored stays so (``nohup`` ignores SIGHUP). Python drops an exception that a signal raises while
    it collects garbage; such an interrupt is raised again.
    """
    received = Received()
    if threading.current_thread() is not threading.main_thread():
        yield received
        return

    def interrupt(number: int, _: FrameType | None) -> None:
        received.number = number
        raise KeyboardInterrupt

    def dropped(what: sys.UnraisableHookArgs) -> None:
        if issubclass(what.exc_type, KeyboardInterrupt):
            again = threading.Timer(AGAIN, _interrupt_main, [received.number])
            again.daemon = True
            again.start()
        else:
            hook(what)

    handlers = {number: signal.getsignal(number) for number in SIGNALS}
    hook = sys.unraisablehook
    for number, handler in handlers.items():
        if handler is not signal.SIG_IGN:
            signal.signal(number, interrupt)
    sys.unraisablehook = dropped
    try:
        yield received
    finally:
        sys.unraisablehook = hook
        for number, handler in handlers.items():
            signal.signal(number, handler)


def _interrupt_main(number: int) -> None:
    """Send a signal to the main thread, which it wakes if that waits."""
    if hasattr(signal, "pthread_kill"):
        signal.pthread_kill(threading.main_thread().ident or 0, number)
    else:
        signal.raise_signal(number)
