"""Java's serialized objects, read as inert data: what Java itself writes, what is damaged, and what is hostile."""

import random
import shutil
import struct
import subprocess
from pathlib import Path

import pytest
from effort import scaled, seeds
from java_objects import Block, Constant, Object, boxed, hash_map, hash_set, serialized, simple

from sqlanon.interop.arx.java_stream import JavaObject, JavaStreamError, mapping, members, read_java

JAVA = """
import java.io.*;
import java.util.*;

public class Written {
    enum Mode { GENERALIZATION, MICRO_AGGREGATION { public String toString() { return "other"; } } }
    static class Base implements Serializable { double gsFactor = 0.25; String name = "base"; }
    static class Own extends Base {
        int k = 5; boolean on = true; long[] bits = {1L << 63, 7}; String[][] rows = {{"a", "é"}, {"b", null}};
        Mode mode = Mode.MICRO_AGGREGATION; Own self = this; Long size = 317238626L; Object nothing = null;
        char c = ';'; float f = 1.5f; short s = -3; byte b = -1; Class<?> kind = String.class;
        transient Object lost = new Object();
        private void writeObject(ObjectOutputStream out) throws IOException {
            out.defaultWriteObject(); out.writeInt(42); out.writeObject("beside");
        }
    }
    public static void main(String[] arguments) throws Exception {
        Map<String, Object> map = new HashMap<>();
        map.put("weight", 0.5d); map.put("level", 3); map.put("flag", true); map.put("none", null);
        map.put("text\\0\\uD83D\\uDE00", "\\uD83D\\uDE00"); map.put("mode", Mode.GENERALIZATION);
        map.put("again", Mode.GENERALIZATION); map.put("date", new Date(5));
        map.put("list", new ArrayList<>(List.of(1, 2)));
        char[] large = new char[70000]; Arrays.fill(large, 'x'); map.put("long", new String(large));
        Own own = new Own();
        map.put("own", own); map.put("set", new HashSet<>(List.of("one")));
        map.put("locale", Locale.GERMANY); map.put("number", new java.math.BigDecimal("1.5"));
        map.put("format", new java.text.SimpleDateFormat("dd.MM.yyyy", Locale.US));
        map.put("tree", new TreeMap<>(Map.of("x", 1)));
        try (ObjectOutputStream out = new ObjectOutputStream(new FileOutputStream(arguments[0]))) {
            out.writeObject(map);
        }
    }
}
"""


@pytest.mark.slow
def test_what_java_writes_is_read(tmp_path: Path) -> None:
    java, javac = shutil.which("java"), shutil.which("javac")
    if java is None or javac is None:
        pytest.skip("javac is not installed")
    (tmp_path / "Written.java").write_text(JAVA, encoding="utf-8")
    subprocess.run([javac, "-encoding", "UTF-8", "Written.java"], cwd=tmp_path, check=True, timeout=120)
    subprocess.run([java, "-cp", ".", "Written", "out.dat"], cwd=tmp_path, check=True, timeout=120)
    found = mapping(read_java((tmp_path / "out.dat").read_bytes()))
    assert (found["weight"], found["level"], found["flag"], found["none"]) == (0.5, 3, True, None)
    assert found["text\0😀"] == "😀"
    assert found["mode"] == found["again"] == "GENERALIZATION"
    assert found["long"] == "x" * 70000
    own = found["own"]
    assert isinstance(own, JavaObject)
    assert own.name == "Written$Own"
    assert (own.get("k"), own.get("on"), own.get("gsFactor"), own.get("name")) == (5, True, 0.25, "base")
    assert own.get("bits") == [-(1 << 63), 7]
    assert own.get("rows") == [["a", "é"], ["b", None]]
    assert (own.get("mode"), own.get("self"), own.get("size"), own.get("nothing")) == (
        "MICRO_AGGREGATION", own, 317238626, None,
    )  # fmt: skip
    assert (own.get("c"), own.get("f"), own.get("s"), own.get("b")) == (ord(";"), 1.5, -3, -1)
    assert own.written == [struct.pack(">i", 42), "beside"]
    assert members(found["set"]) == ["one"]
    assert found["format"].get("pattern") == "dd.MM.yyyy"


def sample() -> bytes:
    shared = simple("arx.Shared", text="é😀\0")
    rows = [["a", "b"], ["a", "c"]]
    own = Object([("arx.Base", {"x": 1.5, "name": "base"}, None), ("arx.Own", {"k": 7, "one": shared}, [Block(b"42")])])
    words = simple("arx.Rows", array=[-1, 3], length=66)
    mode = Constant("arx.Mode", "ON")
    entries = {"rows": simple("arx.H", rows=rows), "one": shared, "own": own, "words": words, "mode": mode, "too": mode}
    return serialized(hash_map({**entries, "number": 2.5, "set": hash_set([boxed(3)])}))


def test_the_writer_of_the_tests_agrees_with_the_reader() -> None:
    found = mapping(read_java(sample()))
    assert found["rows"].get("rows") == [["a", "b"], ["a", "c"]]
    assert found["own"].get("one") is found["one"]
    assert found["one"].get("text") == "é😀\0"
    assert (found["own"].get("k"), found["own"].get("x"), found["own"].written) == (7, 1.5, [b"42"])
    assert found["words"].get("array") == [-1, 3]
    assert (found["mode"], found["too"], found["number"]) == ("ON", "ON", 2.5)


@seeds(40, 10)
def test_damaged_streams_end_in_an_error_or_in_data(block: range) -> None:
    """Whatever stands in a stream, reading it makes objects of the reader's own kinds, or raises its error."""
    data = sample()
    for seed in block:
        rng = random.Random(seed)
        broken = bytearray(data)
        for _ in range(rng.randint(1, 4)):
            broken[rng.randrange(len(broken))] = rng.randrange(256)
        given = bytes(broken[: rng.randrange(4, len(broken))] if rng.random() < 0.4 else broken)
        try:
            found = read_java(given)
        except JavaStreamError:
            continue
        assert found is None or type(found).__module__ in ("builtins", "sqlanon.interop.arx.java_stream")


@pytest.mark.parametrize("size", range(0, scaled(60), 7))
def test_a_stream_that_ends_early_is_refused(size: int) -> None:
    with pytest.raises(JavaStreamError, match=r"ends early|do not begin"):
        read_java(sample()[:size])


def test_a_stream_that_is_too_deep_is_refused() -> None:
    value: Object | None = None
    for _ in range(80):
        value = simple("arx.Node", next=value)
    with pytest.raises(JavaStreamError, match="deeper"):
        read_java(serialized(value))


def test_a_class_that_is_its_own_ancestor_is_refused() -> None:
    own = b"\xac\xed\x00\x05\x73\x72\x00\x01X" + b"\0" * 8 + b"\x02\x00\x00\x78\x71\x00\x7e\x00\x00"
    with pytest.raises(JavaStreamError, match="ancestors"):
        read_java(own)


def test_sizes_that_are_not_there_allocate_nothing() -> None:
    longs = b"\xac\xed\x00\x05\x75\x72\x00\x02[J" + b"\0" * 8 + b"\x02\x00\x00\x78\x70\x7f\xff\xff\xff"
    texts = b"\xac\xed\x00\x05\x7c\x7f\xff\xff\xff\xff\xff\xff\xff"
    objects = b"\xac\xed\x00\x05\x75\x72\x00\x03[[J" + b"\0" * 8 + b"\x02\x00\x00\x78\x70\x7f\xff\xff\xff"
    for data in (longs, texts, objects):
        with pytest.raises(JavaStreamError):
            read_java(data)


def test_objects_that_only_their_class_can_read_are_refused() -> None:
    old = b"\xac\xed\x00\x05\x73\x72\x00\x01X" + b"\0" * 8 + b"\x04\x00\x00\x78\x70"  # externalized, protocol 1
    with pytest.raises(JavaStreamError, match="only its class can read"):
        read_java(old)
