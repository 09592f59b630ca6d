"""The one member of a zip archive (``visits.csv.zip``), unpacked as it is read."""

from __future__ import annotations

import lzma
import zipfile
import zlib
from pathlib import Path
from typing import IO

from sqlanon.errors import SourceError

ENCRYPTED = 1
"""The flag of a member that needs a password."""
MOST_TIMES, HARMLESS = 200, 2**28
"""A member may be so many times as large as it is packed, or so many bytes, whatever it is packed to."""
BESIDE = "__MACOSX/"
"""Where macOS keeps what is no file of the user's."""
DAMAGED = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, NotImplementedError)
"""What reading an archive raises that is cut off or altered, or of a version that is not known."""


def open_member(path: Path) -> IO[bytes]:
    """Return the bytes of the one file in an archive; no more of them are read than it declares.

    Raises:
        SourceError: the archive holds none, or several; or it is encrypted, packed by a method that is not known, or
            unpacks to far more than it is.
        BadZipFile: it is damaged.
    """
    fault, hint = "", "pack one text file, such as visits.csv, into visits.csv.zip."
    with zipfile.ZipFile(path) as archive:
        members = [item for item in archive.infolist() if not item.is_dir() and not item.filename.startswith(BESIDE)]
        if len(members) != 1:
            fault = f"holds {len(members)} files; one is read"
        elif members[0].flag_bits & ENCRYPTED:
            fault, hint = "is encrypted", "unpack it first."
        elif members[0].file_size > max(HARMLESS, MOST_TIMES * members[0].compress_size):
            fault, hint = f"would unpack to {members[0].file_size:,} bytes", "unpack it yourself if you trust it."
        else:
            try:
                return archive.open(members[0])
            except NotImplementedError:
                fault, hint = "is packed by a method that is not known", "pack it anew, by deflate."
    raise SourceError(f"The archive {path.name!r} {fault}.", hint=hint)
