"""ANON definitions: every policy has one and comes back from it; faults have lines; no document harms the reader."""

import datetime
import re
import time
from decimal import Decimal
from pathlib import Path

import pytest
import yaml
from definition_example import DOCS, EXAMPLE
from effort import scaled
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from lxml import etree
from policy_documents import as_toml, documents, texts, typed

import sqlanon
from sqlanon.core.policy import Policy
from sqlanon.errors import InputError, PolicyError, SqlanonError
from sqlanon.interop.anon import definition_opening
from sqlanon.interop.anon.definition_reading import parse_definition, read_definition
from sqlanon.interop.anon.definition_writing import write_definition

QUASI = {"role": "quasi_identifier", "hierarchy": {"suppress": {}}}
CANARY = "Zz7canaryqQ"
SMALL = {"columns": {"a": QUASI}, "privacy": [{"type": "k_anonymity", "k": 2}]}


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("definitions")
    (folder / "h.csv").write_text("1;*\n2;*\n")
    (folder / "hierarchies").mkdir()
    (folder / "hierarchies" / "diagnosis.csv").write_text("flu;*\n")
    return folder


def parse(document: dict, base: Path) -> Policy:
    return Policy.from_dict(document, base_directory=base)


def there_and_back(document: dict) -> dict:
    data = write_definition(document)
    back = parse_definition(data, "d.xml")
    assert write_definition(back) == data
    assert typed(parse_definition(write_definition(back), "d.xml")) == typed(back)
    return back


# -- the documentation ------------------------------------------------------------------------------------------------


def test_the_example_of_the_documentation_is_the_policy_beside_it(base: Path) -> None:
    (base / "example.xml").write_text(EXAMPLE, encoding="utf-8")
    beside = yaml.safe_load(re.search(r"```yaml\n(.*?)```", DOCS, re.DOTALL)[1])
    policy = parse(read_definition(base / "example.xml"), base)
    assert policy == parse(beside, base)
    assert policy.search.strategy == "anon" and policy.quality.measure == "weighted_information_loss"
    assert parse(there_and_back(beside), base) == policy


def test_the_faults_of_the_documentation_are_those_that_are_told() -> None:
    with pytest.raises(PolicyError) as caught:
        parse_definition(EXAMPLE.replace('k="5"', 'k="0"').replace('"marital status"/>', '"x"/>').encode(), "d.xml")
    reported = re.search(r"```text\n(.*?)```", DOCS, re.DOTALL)[1].splitlines()
    for line, said in zip(reported, str(caught.value).splitlines(), strict=True):
        assert said.startswith(line.rstrip("…").rstrip())


def test_options_of_the_documentation_keep_their_types() -> None:
    options = re.search(r"(<format.*?</format>)", DOCS, re.DOTALL)[1]
    text = re.sub(r"<csv .*?/>", options, EXAMPLE)
    read = parse_definition(text.encode(), "d.xml")["fixed_width"]
    assert typed(read) == typed({"widths": [3, 5], "encoding": "cp437", "filler": "0"})


def test_what_is_left_out_means_what_anon_did() -> None:
    text = (
        "<definition><parameters><privacy/></parameters><datasources/><output/><attributes><dontcare name='a'/>"
        "</attributes><hierarchies/></definition>"
    )
    assert parse_definition(text.encode(), "d.xml") == {
        "version": 1,
        "columns": {"a": {"role": "keep"}},
        "undeclared": "drop",
        "privacy": [],
        "search": {"strategy": "anon"},
        "quality": {"measure": "weighted_information_loss"},
    }


# -- there and back ---------------------------------------------------------------------------------------------------


@settings(max_examples=scaled(100), suppress_health_check=list(HealthCheck))
@given(documents() | documents().map(as_toml))
@example({"columns": {"a": QUASI}, "privacy": [], "csv": None, "join": [], "search": None, "quality": {}})
def test_every_policy_comes_back_from_its_definition(base: Path, document: dict) -> None:
    try:
        policy = parse(document, base)
    except PolicyError:
        policy = None
    back = there_and_back(document)
    if policy is not None:
        again = parse(back, base)
        assert again == policy
        assert [c.hierarchy for c in again.columns] == [c.hierarchy for c in policy.columns]
        assert typed(again.to_dict()) == typed(policy.to_dict())


@pytest.mark.slow
def test_the_generated_policies_are_mostly_sound(base: Path) -> None:
    sound = []

    @settings(max_examples=60, database=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(documents())
    def count(document: dict) -> None:
        try:
            parse(document, base)
            sound.append(True)
        except PolicyError as error:
            sound.append(str(error))

    count()
    assert sound.count(True) > len(sound) * 0.8, [reported for reported in sound if reported is not True][:3]


options = st.dictionaries(
    texts,
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
        max_leaves=8,
    ),
    max_size=4,
)


@settings(max_examples=scaled(200))
@given(options)
def test_options_of_extensions_come_back_with_their_types(given_options: dict) -> None:
    document = {
        "columns": {
            "a": {"role": "quasi_identifier", "hierarchy": {"soundex": given_options}},
            "b": {"role": "sensitive", "models": [{"type": "beta_likeness", **given_options, "subset": "s.csv"}]},
        },
        "privacy": [],
        "fixed_width": given_options,
        "csv": {"skip": given_options},
        "join": [{"key": "a", "source": "x", "fixed_width": given_options, "name": "x"}],
        "search": {"strategy": "hill_climbing", "restarts": given_options},
    }
    if {"type", "subset"} & given_options.keys():
        return
    back = there_and_back(document)
    assert typed(back["fixed_width"]) == typed(given_options)
    assert typed(back["csv"]) == typed({"skip": given_options})
    assert typed(back["join"][0]["fixed_width"]) == typed(given_options)
    assert typed(back["search"]["restarts"]) == typed(given_options)
    assert typed(back["columns"]["a"]["hierarchy"]["soundex"]) == typed(given_options)
    model = {"type": "beta_likeness", "subset": {"file": "s.csv"}, **given_options}
    assert typed(back["columns"]["b"]["models"]) == typed([model])


def test_whole_numbers_with_a_point_are_whole_numbers(base: Path) -> None:
    for number in (3.0, Decimal("3.0")):
        models = [{"type": "distinct_l_diversity", "l": number}]
        document = {**SMALL, "columns": {"a": QUASI, "b": {"role": "sensitive", "models": models}}}
        assert parse(parse_definition(write_definition(document), "d"), base) == parse(document, base)


def test_decimals_stay_exact_when_a_policy_holds_them(base: Path) -> None:
    for number in (Decimal("0.3"), Decimal("0.30"), Decimal("0.123456789012345678"), 0.3, 1e-9):
        models = [{"type": "recursive_l_diversity", "l": 2, "c": number}]
        document = {**SMALL, "columns": {"a": QUASI, "b": {"role": "sensitive", "models": models}}}
        back = there_and_back(document)
        assert typed(back["columns"]["b"]["models"][0]["c"]) == typed(number)
        assert parse(back, base) == parse(document, base)
    assert b"numbers" not in write_definition(SMALL)


def test_the_order_of_values_is_kept_and_trees_are_written_where_they_keep_it(base: Path) -> None:
    in_order = {"a": ["x", "*"], "b": ["x", "*"], None: ["y", "*"], "": ["y", "*"]}
    out_of_order = {"a": ["x", "*"], "b": ["y", "*"], "c": ["x", "*"]}
    for tree, rows in (("tree", in_order), ("rows", out_of_order), ("rows", {"a": ["x", None]})):
        document = {**SMALL, "columns": {"a": {"role": "quasi_identifier", "hierarchy": {"levels": rows}}}}
        data = write_definition(document)
        assert f"<{tree}>".encode() in data
        assert typed(parse_definition(data, "d")["columns"]["a"]["hierarchy"]["levels"]) == typed(rows)
        assert list(parse_definition(data, "d")["columns"]["a"]["hierarchy"]["levels"]) == list(rows)
    deep = {str(value): [f"{level}" for level in range(60)] for value in range(3)}
    assert b"<rows>" in write_definition({**SMALL, "columns": {"a": {**QUASI, "hierarchy": {"levels": deep}}}})


def test_equal_hierarchies_are_written_once(base: Path) -> None:
    document = {**SMALL, "columns": dict.fromkeys("abc", QUASI)}
    data = write_definition(document)
    assert data.count(b"<hierarchy ") == 1
    assert parse(parse_definition(data, "d"), base) == parse(document, base)


def test_values_that_yaml_reads_as_numbers_or_dates_are_the_texts_of_the_database(base: Path) -> None:
    day = datetime.date(2020, 1, 2)
    document = {**SMALL, "columns": {"a": {**QUASI, "hierarchy": {"levels": {1: [True], 2.5: [True], day: [False]}}}}}
    back = there_and_back(document)
    assert back["columns"]["a"]["hierarchy"]["levels"] == {"1": ["true"], "2.5": ["true"], "2020-01-02": ["false"]}
    assert parse(back, base) == parse(document, base)


def test_keys_that_yaml_reads_as_something_else_are_texts() -> None:
    document = yaml.safe_load("csv: {null: NA}\njoin: [{source: a.csv, key: id}]")
    assert None in document["csv"]
    back = parse_definition(write_definition({**SMALL, **document}), "d")
    assert back["csv"] == {"null": "NA"} and back["join"] == [{"source": "a.csv", "key": "id"}]


# -- what cannot be written -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("character", ["\x00", "\x0b", "\x1f", "\ud800", "\ufffe"])
def test_a_control_character_is_a_fault_that_names_the_column(character: str) -> None:
    document = {
        **SMALL,
        "columns": {
            "first": {**QUASI, "hierarchy": {"levels": {CANARY + character: ["*"]}}},
            "second": {**QUASI, "hierarchy": {"groups": {"g": [CANARY + character]}}},
        },
    }
    with pytest.raises(PolicyError) as caught:
        write_definition(document)
    assert [fault.key.split(".")[1] for fault in caught.value.faults] == ["first", "second"]
    assert CANARY not in str(caught.value) and "control character" in str(caught.value)


@pytest.mark.parametrize(
    "change, key",
    [
        ({"columns": {"a": {"role": "keeper"}}}, "columns.a.role"),
        ({"columns": {"a": {**QUASI, "hierarchy": {"levels": {1: ["x"], "1": ["y"]}}}}}, "columns.a.hierarchy.levels"),
        ({"columns": {"a": {**QUASI, "hierarchy": {"levels": {1: ["x"], 2: []}}}}}, "columns.a.hierarchy.levels"),
        ({"columns": {"a": {**QUASI, "hierarchy": {"groups": {None: ["x"]}}}}}, "columns.a.hierarchy.groups"),
        ({"columns": {"a": {**QUASI, "hierarchy": {"a": {}, "b": {}}}}}, "columns.a.hierarchy"),
        ({"columns": {"a": {**QUASI, "hierarchy": {"table": 5}}}}, "columns.a.hierarchy.table"),
        ({"columns": {"a": {**QUASI, "hierarchy": {"soundex": 4}}}}, "columns.a.hierarchy.soundex"),
        ({"columns": {"a": {**QUASI, "hierarchy": {"x": {"y": {1}}}}}}, "columns.a.hierarchy.x.y"),
        ({"columns": {"a": {**QUASI, "hierarchy": {"suppress": {}, "information_loss": ["x"]}}}},
         "columns.a.hierarchy.information_loss[0]"),
        ({"columns": {5: QUASI}}, "columns"),
        ({"columns": [1]}, "columns"),
        ({"privacy": {"k": 5}}, "privacy"),
        ({"privacy": [{"type": "delta_presence", "min": 0, "max": 1, "subset": {}}]}, "privacy[0].subset"),
        ({"privacy": [{"type": "k_anonymity", "k": 0}]}, "parameters/privacy/k-anonymity/@k"),
        ({"privacy": [{"type": "t_closeness", "t": 0.1}]}, "parameters/privacy/t-closeness"),
        ({"suppression_limit": "much"}, "suppression_limit"),
        ({"output": {"tape": "x"}}, "output"),
        ({"join": [{"key": [5]}]}, "join[0].key"),
        ({"nulls": "sometimes"}, "parameters/nulls/@value"),
    ],
)  # fmt: skip
def test_what_is_no_policy_is_refused_with_its_key(change: dict, key: str) -> None:
    with pytest.raises(PolicyError) as caught:
        write_definition({**SMALL, **change})
    assert key in [fault.key for fault in caught.value.faults]


# -- faults of a definition -------------------------------------------------------------------------------------------


def line_of(text: str, part: str) -> int:
    return text[: text.index(part)].count("\n") + 1


def faults(text: str) -> dict[str, str]:
    with pytest.raises(PolicyError) as caught:
        parse_definition(text.encode(), "d.xml")
    assert all(fault.hint and fault.message for fault in caught.value.faults)
    return {fault.key: fault.message + " " + fault.hint for fault in caught.value.faults}


TREE = "hierarchies/hierarchy[2]/tree"
REDACT = '<redact direction="right" char="*"/>'
MUTATIONS = [
    ('k="5"', 'k="0"', "parameters/privacy/k-anonymity/@k", "at least 1"),
    ('k="5"', 'k="five"', "parameters/privacy/k-anonymity/@k", "whole number"),
    ('k="5"', "", "parameters/privacy/k-anonymity/@k", "missing"),
    ('<suppression-share value="0.05"', '<suppression-share value="1.5"',
     "parameters/suppression-share/@value", "between 0 and 1"),
    ('<suppression-share value="0.05"', '<suppression-share value="NaN"',
     "parameters/suppression-share/@value", "between 0 and 1"),
    ('<suppression-share value="0.05"', '<suppression-count value="-1"',
     "parameters/suppression-count/@value", "at least 0"),
    ('time-limit="60"', 'gap="1"', "parameters/search/@gap", "below 1"),
    ('<nulls value="extended"/>', '<nulls value="never"/>', "parameters/nulls/@value", "extended, basic"),
    ('<report path="patients.html"/>', '<engine threads="0"/>', "parameters/engine/@threads", "at least 1"),
    ('<report path="patients.html"/>', '<reprt path="report.html"/>',
     "parameters/reprt", "expected here: quality, report"),
    ('<csv delimiter=";"/>', '<csv header="yes"/>', "datasources/datasource/csv/@header", "true or false"),
    ('<key column="patient" joined="id"/>', "<!-- -->", "datasources/join", "key of the join"),
    ('<file path="patients.parquet"/>', '<file path="a"/><view name="b"/>', "output/view", "not in its place"),
    ('priority="2"', 'priority="-2"', "attributes/k-attribute[1]/@priority", "at least 0"),
    ('priority="2"', 'wieght="2"', "attributes/k-attribute[1]/@wieght", "priority"),
    ('hierarchy="zip"/>', "/>", "attributes/k-attribute[3]/@hierarchy", "missing"),
    ('hierarchy="zip"/>', 'hierarchy="zup"/>', "attributes/k-attribute[3]/@hierarchy", "no hierarchy of this name"),
    ('hierarchy="diagnoses"', 'hierarchy="nowhere"', "attributes/l-attribute/@hierarchy", "no hierarchy of this name"),
    ('<distinct-l-diversity l="3"/>', '<k-anonymity k="3"/>', "attributes/l-attribute/k-anonymity", "not in its place"),
    ('t="0.3"', 't="3"', "attributes/l-attribute/t-closeness/@t", "between 0 and 1"),
    ('<dontcare name="stay"/>', '<dontcare name="zip"/>', "attributes/dontcare/@name", "Another attribute"),
    ('<dontcare name="stay"/>', '<dontcare name="x" hierarchy="zip"/>',
     "attributes/dontcare/@hierarchy", "not known here"),
    ('<hierarchy name="diagnoses">', '<hierarchy name="zip">', "hierarchies/hierarchy[4]/@name", "Another hierarchy"),
    ('number="1"', 'number="7"', "hierarchies/hierarchy[1]/levels/level[2]", "level 1"),
    ('information-loss="0.4"', 'information-loss="-1"',
     "hierarchies/hierarchy[1]/levels/level[3]/@information-loss", "at least 0"),
    ('fanouts="2 2"', 'fanouts="2 1"', "hierarchies/hierarchy[1]/intervals/@fanouts", "at least 2"),
    ('<value name="divorced"/>', f'<value name="single" x="{CANARY}"/>',
     f"{TREE}/value/value[1]/value[2]/@x", "not known here"),
    ('<value name="divorced"/>', '<value name="single"/>', f"{TREE}/value/value[1]/value[1]", "more than once"),
    ('<value name="married"/>', '<value name="m"><value name="n"/></value>',
     f"{TREE}/value/value[2]/value/value", "another depth"),
    (REDACT, '<rows><row><value name="a"/></row><row><value name="b"/><null/></row><row><null/></row></rows>',
     "hierarchies/hierarchy[3]/rows/row[2]", "another depth"),
    (REDACT, '<groups><group name="g"/><group name="g"/></groups>',
     "hierarchies/hierarchy[3]/groups/group[2]", "this name"),
    (REDACT, '<groups><group name="g"/><value name="v"/></groups>',
     "hierarchies/hierarchy[3]/groups/value", "expected here: group"),
    (REDACT, '<redact><option name="char" value="*"/><option name="char" value="*"/></redact>',
     "hierarchies/hierarchy[3]/redact/option[2]", "stands twice"),
    (REDACT, '<builder kind="b"><option name="x" value="1" type="list"/></builder>',
     "hierarchies/hierarchy[3]/builder/option", "do not belong together"),
    (REDACT, '<builder kind="b"><option name="x"/></builder>',
     "hierarchies/hierarchy[3]/builder/option", "do not belong together"),
    ("<null/>", f"<null/>{CANARY}", f"{TREE}/value/value[2]", "text between the elements"),
]  # fmt: skip


@pytest.mark.parametrize("old, new, place, told", MUTATIONS, ids=[f"{place} {told}" for _, _, place, told in MUTATIONS])
def test_each_fault_has_its_line_its_place_and_a_cure(old: str, new: str, place: str, told: str) -> None:
    assert EXAMPLE.count(old) >= 1
    text = EXAMPLE.replace(old, new, 1)
    found = faults(text)
    [key] = [key for key in found if key.endswith(f": {place}")]
    assert told in found[key]
    if (
        "another depth" not in told
        and "more than once" not in told
        and "text between" not in told
        and "key of" not in told
    ):
        assert key == f"line {line_of(EXAMPLE, old)}: {place}"
    assert CANARY not in str(found)


def test_sections_have_an_order_and_are_all_there() -> None:
    sections = re.findall(r"^  <(\w+)[ >].*?^  </\1>\n", EXAMPLE, re.DOTALL | re.MULTILINE)
    assert sections == ["parameters", "datasources", "output", "attributes", "hierarchies"]
    output = re.search(r"^  <output.*?^  </output>\n", EXAMPLE, re.DOTALL | re.MULTILINE)[0]
    found = faults(EXAMPLE.replace(output, ""))
    assert found == {
        f"line {line_of(EXAMPLE, output)}: attributes": "attributes is not in its place. expected here: output."
    }
    moved = EXAMPLE.replace(output, "").replace("  <datasources>", output + "  <datasources>")
    assert [key.partition(": ")[2] for key in faults(moved)] == ["output"]
    assert "This is not the root" in str(faults("<people><person/></people>"))
    assert "This is not the root" in str(faults(EXAMPLE.replace("<definition", '<definition xmlns="urn:other"')))


def test_all_faults_are_reported_together_in_the_order_of_the_lines() -> None:
    text = EXAMPLE.replace('k="5"', 'k="0"').replace('priority="2"', 'priority="x"').replace('"zip"/>', '"zup"/>')
    lines = [int(re.match(r"line (\d+)", key)[1]) for key in faults(text)]
    assert len(lines) == 3 and lines == sorted(lines)


@pytest.mark.slow
def test_a_document_with_many_faults_tells_the_first_in_a_moment() -> None:
    many = "".join(f'<value name="{number}" x="1"/>\n' for number in range(50_000))
    for text in (EXAMPLE.replace("<null/>", many), EXAMPLE.replace("<null/>", many.replace("\n", ""))):
        started = time.monotonic()
        with pytest.raises(PolicyError) as caught:
            parse_definition(text.encode(), "d.xml")
        assert time.monotonic() - started < 20  # hours, when every fault is located
        found = caught.value.faults
        assert len(found) == 101 and "more faults" in found[100].message
        assert found[0].key == f"line {line_of(text, 'x=')}: value/@x"


def test_lines_are_right_beyond_what_libxml2_counts_in_16_bits() -> None:
    many = "".join(f'<value name="{number}"/>\n' for number in range(70_000))
    text = EXAMPLE.replace("<null/>", many).replace('char="*"', 'chr="*"')
    [key] = faults(text)
    near, place = re.fullmatch(r"near line (\d+): (.*)", key).groups()
    assert abs(int(near) - line_of(text, "chr=")) <= 1 and place == "hierarchies/hierarchy[3]/redact/@chr"


@pytest.mark.parametrize("part", ["single", "alone", "flu"])
def test_no_fault_quotes_a_value(part: str) -> None:
    option = f'<option name="n" value="{CANARY}" type="number"/>'
    broken = f'<redact direction="right" steps="{CANARY}" x="{CANARY}">{option}{CANARY}</redact>'
    text = EXAMPLE.replace("single", CANARY).replace("widowed", CANARY).replace('"0.05"', f'"{CANARY}"')
    found = faults(text.replace(REDACT, broken))
    assert len(found) >= 3 and CANARY not in str(found)
    assert CANARY not in str(faults(EXAMPLE.replace("single", CANARY).replace("widowed", CANARY)))


def test_options_cannot_stand_in_for_what_has_a_place() -> None:
    for name in ("columns", "privacy", "source", "undeclared"):
        text = EXAMPLE.replace("</parameters>", f'<option name="{name}" value="x"/></parameters>')
        assert "of its own" in str(faults(text))
    assert "of its own" in str(
        faults(
            EXAMPLE.replace(
                '<dontcare name="stay"/>', '<dontcare name="stay"><option name="role" value="drop"/></dontcare>'
            )
        )
    )
    assert "stands twice" in str(faults(EXAMPLE.replace('<csv delimiter=";"/>', '<format name="columns"/>')))


# -- documents that mean harm -----------------------------------------------------------------------------------------


def refused(data: bytes | str) -> str:
    with pytest.raises(InputError) as caught:
        parse_definition(data.encode() if isinstance(data, str) else data, "d.xml")
    assert not isinstance(caught.value, PolicyError) and caught.value.hint and "'d.xml'" in str(caught.value)
    assert CANARY not in str(caught.value)
    return str(caught.value)


def with_doctype(inner: str) -> str:
    return EXAMPLE.replace("<definition ", f"<!DOCTYPE definition {inner}>\n<definition ", 1)


def test_billion_laughs_are_refused_before_they_start() -> None:
    bombs = "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 10))
    assert "DOCTYPE" in refused(with_doctype(f'[<!ENTITY a0 "ha">{bombs}]').replace("single", "&a9;"))


def test_external_and_parameter_entities_are_refused(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text(CANARY)
    for inner in (
        f'[<!ENTITY x SYSTEM "{secret.as_uri()}">]',
        f'[<!ENTITY % x SYSTEM "{secret.as_uri()}"> %x;]',
        f'SYSTEM "{secret.as_uri()}"',
        '[<!ATTLIST value name CDATA "filled in">]',
        "",
    ):
        output = refused(with_doctype(inner).replace("single", "&x;"))
        assert "DOCTYPE" in output and "line 2" in output
    assert "not well-formed" in refused(EXAMPLE.replace("single", "&x;"))


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-8-sig", "utf-7"])
def test_no_encoding_hides_a_doctype(encoding: str) -> None:
    for declared in ("UTF-8", encoding):
        text = with_doctype('[<!ENTITY x "y">]').replace("UTF-8", declared)
        output = refused(text.encode(encoding))
        assert "DOCTYPE" in output or "cannot be read" in output
    if encoding != "utf-7":
        assert "DOCTYPE" in output


def test_a_declared_encoding_that_is_not_that_of_the_bytes_is_refused_or_harmless() -> None:
    hidden = "<?xml version='1.0' encoding='utf-7'?>+ADwAIQ-DOCTYPE definition []+AD4-<definition/>"
    assert "encoding is not known" in refused(hidden)
    for encoding in ("klingon", "rot13", "idna", "unicode_escape", "undefined", "hex"):
        assert "encoding is not known" in refused(EXAMPLE.replace("UTF-8", encoding))
    assert "is not utf-8 text" in refused(EXAMPLE.replace("single", "é").encode("latin-1").replace(b"UTF-8", b"utf-8"))
    assert "cannot be read" in refused(EXAMPLE.replace("UTF-8", "UTF-16"))
    assert "cannot be read" in refused(EXAMPLE.encode("cp037"))


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-16", "utf-16-be", "iso-8859-1", "windows-1252", "iso-8859-15", "cp437"]
)
def test_declared_encodings_work(encoding: str) -> None:
    text = EXAMPLE.replace("UTF-8", encoding).replace("single", "ledig é")
    values = parse_definition(text.encode(encoding), "d.xml")["columns"]["marital"]["hierarchy"]["levels"]
    assert "ledig é" in values


def test_encodings_with_several_bytes_a_character_work() -> None:
    text = EXAMPLE.replace("UTF-8", "Shift_JIS").replace("single", "独身")
    assert "独身" in parse_definition(text.encode("shift_jis"), "d.xml")["columns"]["marital"]["hierarchy"]["levels"]


def test_xinclude_and_instructions_do_nothing(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text(CANARY)
    include = (
        f'<xi:include xmlns:xi="http://www.w3.org/2001/XInclude" parse="text" href="{(tmp_path / "secret").as_uri()}"/>'
    )
    found = faults(EXAMPLE.replace("<null/>", include))
    assert any("not in its place" in reported for reported in found.values()) and CANARY not in str(found)
    plain = parse_definition(EXAMPLE.encode(), "d.xml")
    for harmless in ('<?xml-stylesheet href="x"?>', "<!-- a comment -->", "<?php x ?>"):
        assert parse_definition(EXAMPLE.replace("<parameters>", harmless + "<parameters>").encode(), "d.xml") == plain


def test_a_document_cannot_bring_its_own_schema_or_types(tmp_path: Path) -> None:
    (tmp_path / "own.xsd").write_text(
        '<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema"><xs:element name="x"/></xs:schema>'
    )
    instance = 'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"'
    hint = f'{instance} xsi:noNamespaceSchemaLocation="{(tmp_path / "own.xsd").as_uri()}"'
    plain = parse_definition(EXAMPLE.encode(), "d.xml")
    assert parse_definition(EXAMPLE.replace("<definition ", f"<definition {hint} ").encode(), "d.xml") == plain
    assert faults(EXAMPLE.replace("<k-anonymity ", f'<k-anonymity {instance} xsi:type="model" '))
    assert faults(EXAMPLE.replace("<k-anonymity ", f'<k-anonymity {instance} xsi:nil="true" '))


def test_deep_and_huge_documents_are_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert "nested deeper" in refused("<definition>" + "<a>" * 100_000)
    assert "cannot be read" in refused(EXAMPLE.replace("single", "x" * 11_000_000))
    monkeypatch.setattr(definition_opening, "LARGEST", 1 << 20)
    assert "more than 1 MiB" in refused(EXAMPLE + " " * (1 << 20))
    with pytest.raises(InputError, match="more than 1 MiB"):
        write_definition({**SMALL, "columns": {"a": {**QUASI, "hierarchy": {"levels": {"x" * (1 << 20): ["*"]}}}}})


def test_what_is_no_xml_is_refused_with_its_line(tmp_path: Path) -> None:
    for text, reported in (
        (EXAMPLE.replace("</privacy>", ""), "line 11"),
        (EXAMPLE.replace("single", f"a & {CANARY}"), f"line {line_of(EXAMPLE, 'single')}"),
        (EXAMPLE.replace('"single"', f"{CANARY}"), f"line {line_of(EXAMPLE, 'single')}"),
        (EXAMPLE.replace("single", "\x01"), f"line {line_of(EXAMPLE, 'single')}"),
        (EXAMPLE.replace("single", "&#1;"), f"line {line_of(EXAMPLE, 'single')}"),
        (EXAMPLE.replace("<null/>", "<x:null/>"), f"line {line_of(EXAMPLE, '<null/>')}"),
        ("", "line 1"),
        ("\x00", "line 1"),
        ("columns: {}", "line 1"),
    ):
        assert reported in refused(text)
    with pytest.raises(InputError, match="cannot be read"):
        read_definition(tmp_path / "none.xml")
    with pytest.raises(InputError, match="cannot be read"):
        read_definition(tmp_path)


@settings(max_examples=scaled(300))
@given(st.integers(0, len(EXAMPLE) - 1), st.text("<>\"'/&a1 =!?[", max_size=3), st.integers(0, 12))
def test_a_damaged_definition_is_read_or_refused(at: int, inserted: str, cut: int) -> None:
    damaged = EXAMPLE[:at] + inserted + EXAMPLE[at + cut :]
    try:
        parse_definition(damaged.encode(), "d.xml")
    except SqlanonError as error:
        assert error.exit_code == 2


# -- the schema and the interface -------------------------------------------------------------------------------------


def test_every_attribute_of_the_schema_says_what_its_values_are() -> None:
    from sqlanon.interop.anon.definition_schema import _attributes

    assert all(reported for attributes in _attributes().values() for reported in attributes.values())
    assert _attributes()["k-attribute"].keys() == {"name", "priority", "hierarchy", "minimum", "limit", "uncovered"}


def test_the_document_is_pretty_and_valid_for_any_validator() -> None:
    from sqlanon.interop.anon.definition_schema import SCHEMA

    data = write_definition(parse_definition(EXAMPLE.encode(), "d.xml"))
    assert data.startswith(b"<?xml version='1.0' encoding='UTF-8'?>\n<definition version=\"1\">\n  <parameters>\n")
    etree.XMLSchema(etree.parse(str(SCHEMA))).assertValid(etree.fromstring(data))


def test_the_public_interface_reads_definitions(base: Path) -> None:
    (base / "public.xml").write_text(EXAMPLE, encoding="utf-8")
    assert sqlanon.Policy.from_file(base / "public.xml").search.strategy == "anon"
