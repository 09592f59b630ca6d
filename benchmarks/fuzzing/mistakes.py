"""Policies and files that are broken at random: every one must end in an error of ours, or in a release."""

from __future__ import annotations

import datetime
import math
import random
import shutil
from typing import Any

import yaml

from fuzzing.cases import Case

JUNK: tuple[Any, ...] = (
    None, "", " ", -1, 0, 1, 2, 0.5, 1e308, -0.0, math.nan, math.inf, 10**40, [], {}, "x" * 5000, True, False, "5",
    "no", datetime.date(2024, 2, 29), [None], [[]], {"": ""}, {None: None}, {1: 2}, "\x00", "é\u2028", "../..", "/",
    ".", "~", "postgresql:///nowhere?host=/nowhere", "*", "a" * 300 + ".parquet", b"\xff", [1, "a"],
    {"type": "k_anonymity"}, {"file": ""}, {"file": "missing.csv"}, {"levels": {}}, {"type": "nothing"}, "k_anonymity",
)  # fmt: skip
KEYS = (
    "",
    "sources",
    "private",
    "k",
    "columns",
    "type",
    "x" * 300,
    "hierarchy",
    "é",
    "output",
    5,
    None,
    True,
    "with",
    "on",
)
LONE = (
    "\ud800",
    "\t- {",
    "%",
    "&a [*a]",
    "!!python/object:os.system {}",
    "<<: *x",
    "---\na: 1\n---\nb: 2",
    "\x00",
    "[" * 2000,
)


def break_policy(rng: random.Random, case: Case) -> None:
    """Break the document of a case before it is written."""
    if rng.random() > 0.25:
        return
    places = [*_places(case.document)]
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        holder, key = rng.choice(places)
        kind = rng.choice(["junk", "junk", "junk", "delete", "rename", "add", "copy"])
        if kind == "junk":
            holder[key] = rng.choice(JUNK)
        elif kind == "delete" and isinstance(holder, dict):
            holder.pop(key, None)
        elif kind == "rename" and isinstance(holder, dict) and key in holder:
            holder[rng.choice([*KEYS, str(key).upper(), f"{key} "])] = holder.pop(key)
        elif kind == "add" and isinstance(holder, dict):
            holder[rng.choice(KEYS)] = rng.choice(JUNK)
        elif kind == "copy":
            other, place = rng.choice(places)
            holder[key] = other.get(place) if isinstance(other, dict) else other[min(place, len(other) - 1)]
            if _cyclic(case.document):
                holder[key] = None
        case.mistake = f"{kind} at {key!r}"


def _places(node: Any) -> list[tuple[Any, Any]]:
    """Return every key of a document with what holds it."""
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    found = []
    for key, value in items:
        found += [(node, key), *_places(value)]
    return found


def _cyclic(node: Any, above: tuple[int, ...] = ()) -> bool:
    if not isinstance(node, dict | list):
        return False
    inner = node.values() if isinstance(node, dict) else node
    return id(node) in above or any(_cyclic(item, (*above, id(node))) for item in inner)


def break_files(rng: random.Random, case: Case) -> None:
    """Break a file of a case after all were written: the policy, the source, a hierarchy, the key."""
    if rng.random() > 0.07:
        return
    path = rng.choice(sorted(path for path in case.folder.iterdir() if path.is_file()))
    content = path.read_bytes()
    kind = rng.choice(["cut", "noise", "remove", "folder", "empty", "insert", "unreadable bytes"])
    case.mistake, case.broken_files = f"{kind}: {path.suffix}", True
    if kind == "cut":
        path.write_bytes(content[: rng.randint(0, len(content))])
    elif kind == "noise":
        place = rng.randint(0, len(content))
        path.write_bytes(content[:place] + rng.randbytes(rng.randint(1, 40)) + content[place:])
    elif kind in ("remove", "folder"):
        path.unlink()
        if kind == "folder":
            path.mkdir()
    elif kind == "empty":
        path.write_bytes(b"")
    elif kind == "insert":
        place = rng.randint(0, len(content))
        path.write_bytes(content[:place] + rng.choice(LONE).encode("utf-8", "surrogatepass") + content[place:])
    else:
        path.write_bytes(b"\xff\xfe" + content)


def wrong_documents(rng: random.Random) -> str:
    """Return a text that is no policy at all."""
    return yaml.safe_dump(rng.choice([item for item in JUNK if not isinstance(item, bytes)]))


def clear(case: Case) -> None:
    """Remove what a case wrote."""
    shutil.rmtree(case.folder, ignore_errors=True)
