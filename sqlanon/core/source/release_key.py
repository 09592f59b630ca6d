"""The key of one release: derived from the secret of the policy, loaded for a statement, and dropped after it.

It is never part of a text of SQL, because statements are journaled, logged by servers and written into scripts: it
stands in a working table, which no script lists, as the two blocks that HMAC begins with (RFC 2104).
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

import pyarrow as pa
from sqlglot import exp

from sqlanon.core.engines.base import Engine
from sqlanon.core.engines.replay import temporary_table
from sqlanon.core.policy.key import Key
from sqlanon.core.sqltrees import names
from sqlanon.errors import EngineError

TITLE = "key of a release: load its blocks here, a row a purpose"
BLOCK = 64
"""Bytes of a block of SHA-256."""
SALT = 32
"""Bytes of the salt of a release without a context."""


class ReleaseKey:
    """HMAC-SHA-256(secret of the policy, salt): of the salt of one release, or of the context of several.

    Each purpose has a key of its own, HMAC-SHA-256(release key, purpose), so that what is published for one (32 digits
    of a pseudonym) says nothing of another (by how many days dates are shifted).
    """

    __slots__ = ("_key",)

    def __init__(self, secret: bytes, context: str | None = None) -> None:
        salt = secrets.token_bytes(SALT) if context is None else context.encode()
        self._key = hmac.digest(secret, salt, "sha256")

    @classmethod
    def of(cls, key: Key) -> ReleaseKey:
        """Return the key of a new release; of one context it is the same again.

        Raises:
            InputError: the policy's key cannot be read.
        """
        return cls(key.secret(), key.context)

    def key_for(self, purpose: str) -> bytes:
        """Return the key of a purpose, 32 bytes."""
        return hmac.digest(self._key, purpose.encode(), "sha256")

    @contextmanager
    def loaded(self, engine: Engine, purposes: Sequence[str]) -> Iterator[None]:
        """Let statements read the blocks of some purposes, from ``names.RELEASE_KEY``, until the context ends.

        Raises:
            UnsupportedError: the engine has no keyed hash.
            EngineError: the database refused the table.
        """
        engine.capabilities.require("keyed")
        blocks = [(purpose, *_blocks(self.key_for(purpose))) for purpose in purposes]
        columns = zip(names.KEY_COLUMNS, zip(*blocks, strict=True), strict=True)
        engine.load("release key", names.RELEASE_KEY, pa.table({n: pa.array(v) for n, v in columns}), replayed=False)
        with dropping(engine, names.RELEASE_KEY):
            yield


@contextmanager
def dropping(engine: Engine, relation: str) -> Iterator[None]:
    """Drop a relation of ours when the context ends."""
    try:
        yield
    except BaseException:
        with suppress(EngineError):  # the connection may be gone, and says why itself
            engine.drop(relation)
        raise
    engine.drop(relation)


def note_release_key(engine: Engine) -> None:
    """Let the replayable script create the table of the key, once, without its rows."""
    if not any(name == TITLE for name, _ in engine.replay):
        nothing = [exp.cast(exp.null(), "VARCHAR").as_(name, quoted=True) for name in names.KEY_COLUMNS]
        engine.replay.append((TITLE, temporary_table(names.RELEASE_KEY, exp.select(*nothing).where(exp.false()))))


def _blocks(key: bytes) -> tuple[str, str]:
    """Return the blocks that the inner and the outer hash begin with, as hexadecimal texts."""
    padded = key.ljust(BLOCK, b"\0")
    inner, outer = (bytes(byte ^ pad for byte in padded) for pad in (0x36, 0x5C))
    return inner.hex(), outer.hex()
