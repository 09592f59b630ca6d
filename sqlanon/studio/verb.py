"""The verb ``studio``: serve the page of a table, from a notebook or from the command line."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any

from sqlanon.studio.server import StudioServer, served
from sqlanon.studio.workbench import Workbench

NOTEBOOKS = "http://localhost:* http://127.0.0.1:* https://localhost:*"
"""Who may show the page in a frame: notebooks on this machine."""


class Studio:
    """A page that is served until ``close``, or until the process ends. A notebook shows it in its cell."""

    def __init__(self, bench: Workbench, server: StudioServer) -> None:
        self._bench, self._server = bench, server
        self._thread = threading.Thread(target=server.run, name="sqlanon studio server", daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """The address of the page: whoever has it sees what the operator sees."""
        return self._server.url

    def close(self) -> None:
        """End the page and its work."""
        self._server.stop()
        self._bench.close()
        self._thread.join(5)

    def __enter__(self) -> Studio:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"sqlanon studio at {self.url}"

    def _repr_html_(self) -> str:
        url = escape(self.url, quote=True)
        frame = f'<iframe src="{url}" title="sqlanon studio" width="100%" height="900" style="border:0"></iframe>'
        return f'<p><a href="{url}" target="_blank" rel="noopener">Open the studio in a tab of its own</a></p>{frame}'


def studio(
    source: object,
    table: str | None = None,
    *,
    csv: Mapping[str, Any] | None = None,
    formats: Mapping[str, Mapping[str, Any]] | None = None,
    folder: str | Path = ".",
    port: int = 0,
    show_records: bool = False,
) -> Studio:
    """Serve a page on this machine where a person goes from a table to a policy and a release, and sees each cost.

    Args:
        source, table, csv, formats: as for ``profile``; or the path of a policy, which is opened.
        folder: where policies, releases and reports are written.
        port: of the loopback interface; 0: a free one.
        show_records: show some records before and after, to whoever may see the source.

    Raises:
        UnsupportedError: the extra ``studio`` is not installed, or the port is taken.
    """
    bench = Workbench(source, table, csv=csv, formats=formats, folder=Path(folder).absolute(),
                      show_records=show_records)  # fmt: skip
    return Studio(bench, served(bench, port=port, framed_by=NOTEBOOKS))
