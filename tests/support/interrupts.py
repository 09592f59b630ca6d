"""Ctrl-C, or another signal, in the middle of a statement."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def interrupted_after(seconds: float, number: int = signal.SIGINT) -> Iterator[None]:
    """Send a signal to this process after some seconds, and every two seconds again until the block is left.

    One signal is not always enough: Python drops a KeyboardInterrupt that is raised while it collects garbage.
    """
    left = threading.Event()

    def send() -> None:
        pause = seconds
        while not left.wait(pause):
            signal.raise_signal(number)
            pause = 2.0

    thread = threading.Thread(target=send)
    thread.start()
    try:
        yield
    finally:
        left.set()
        thread.join()
