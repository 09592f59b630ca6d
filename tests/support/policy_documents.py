"""Documents of policies, made by hypothesis: every key, and texts that files find hard."""

from decimal import Decimal
from typing import Any

from hypothesis import strategies as st

NASTY = [
    "'",
    '"',
    "]]>",
    "<",
    "&",
    "&amp;",
    "\n",
    "\r",
    "\r\n",
    "\t",
    " ",
    "*",
    "é",
    "\x7f",
    "\x85",
    "\u2028",
    "𝄞",
    "\xa0",
]
texts = st.lists(
    st.sampled_from([*NASTY, "NULL", "no", "1e3", "007", "true", "null"])
    | st.characters(exclude_categories=("Cc", "Cs"), exclude_characters="\ufffe\uffff"),
    max_size=4,
).map("".join)
names = texts.filter(bool)
numbers = st.integers(0, 10**6) | st.floats(0, 10**6) | st.sampled_from([0.1, 1e-7, 5.0, 1e16])
shares = st.sampled_from([0, 1, 0.0, 1.0, 0.05, 0.3, 1e-5, 1 / 3])
exact = st.sampled_from([5, 0.1, "0.10", "5.0", "1e3", "12345678901234567890.5", "7", 1e-7])


def some(**optional: st.SearchStrategy) -> st.SearchStrategy:
    return st.fixed_dictionaries({}, optional=optional)


@st.composite
def levels(draw: st.DrawFn) -> dict:
    height = draw(st.integers(0, 3))
    words = draw(st.lists(texts, min_size=1, max_size=3))
    above = st.lists(st.sampled_from([*words, "*", None]), min_size=height, max_size=height)
    values = draw(
        st.lists(texts | st.none() | st.integers(0, 9), min_size=1, max_size=6, unique_by=lambda v: (v is None, str(v)))
    )
    return {"levels": {value: draw(above) for value in values}}


def groups(depth: int) -> st.SearchStrategy:
    if depth == 0:
        return st.lists(texts | st.none() | st.integers(), max_size=3)
    return st.dictionaries(texts, groups(depth - 1), min_size=1, max_size=3)


def has_leaves(node: Any) -> bool:
    return any(map(has_leaves, node.values())) if isinstance(node, dict) else bool(node)


hierarchies = st.one_of(
    levels(),
    st.integers(0, 3).flatmap(groups).filter(has_leaves).map(lambda tree: {"groups": tree}),
    some(origin=exact, labels=st.sampled_from(["range", "start"]), fanouts=st.lists(st.just(2), max_size=3)).flatmap(
        lambda options: exact.map(lambda width: {"intervals": {"width": width, **options}})
    ),
    some(
        direction=st.sampled_from(["left", "right"]),
        char=st.sampled_from("*#<é"),
        steps=st.integers(1, 5),
        width=st.integers(1, 9),
    ).map(lambda options: {"redact": options}),
    st.sampled_from(
        [
            {"dates": ["month", "year"]}, {"dates": {"levels": ["day"]}}, {"dates": {}}, {"suppress": {}}, "h.csv",
            {"suppress": None}, {"file": "h.csv"},
            {"file": "h.csv", "delimiter": "\t", "null": "", "encoding": "ascii"}, {"file": "h.csv", "header": False},
            {"table": "s.t"},
        ]
    ),
)  # fmt: skip
losses = st.lists(shares, min_size=1, max_size=4).map(sorted).map(lambda found: {"information_loss": found})


@st.composite
def quasi_identifiers(draw: st.DrawFn) -> dict:
    hierarchy = draw(hierarchies)
    if isinstance(hierarchy, dict):
        hierarchy = {**hierarchy, **draw(st.just({}) | losses)}
    given_levels = draw(st.just({}) | st.just({"min_level": 1, "max_level": 3}) | st.just({"max_level": None}))
    optional = draw(some(weight=numbers, uncovered=st.sampled_from(["error", "top", "suppress"])))
    return {"role": "quasi_identifier", "hierarchy": hierarchy, **given_levels, **optional}


watching = st.lists(
    st.one_of(
        st.integers(1, 9).map(lambda l: {"type": "distinct_l_diversity", "l": l}),
        st.sampled_from([{"type": "t_closeness", "t": 1e-5}, {"type": "delta_disclosure", "delta": 1.5}]),
        some(enhanced=st.booleans()).map(lambda form: {"type": "beta_likeness", "beta": 1, **form}),
        st.floats(1, 9).map(lambda l: {"type": "entropy_l_diversity", "l": l}),
        st.sampled_from([0.5, 4, 1e-9]).map(lambda c: {"type": "recursive_l_diversity", "l": 2, "c": c}),
        st.tuples(shares, some(distance=st.sampled_from(["equal", "ordered"]))).map(
            lambda pair: {"type": "t_closeness", "t": pair[0], **pair[1]}
        ),
    ),
    min_size=1,
    max_size=3,
)
columns = st.one_of(
    quasi_identifiers(),
    watching.map(lambda models: {"role": "sensitive", "models": models}),
    st.sampled_from([{"role": "keep"}, {"role": "drop"}, {"role": "keep", "weight": 2.5}]),
)
csv = some(
    delimiter=st.sampled_from([";", "\t", "<"]),
    null=texts,
    quote=st.just("'"),
    encoding=names,
    header=st.booleans(),
    skip=st.integers(0, 9),
    types=st.dictionaries(names, st.sampled_from(["BIGINT", "decimal(18, 2)", "TIMESTAMP WITH TIME ZONE"]), max_size=2),
    date_format=st.just("%d.%m.%Y"),
    timestamp_format=st.just("%d.%m.%Y %H:%M"),
)
xml = some(record=st.just("person"), null=texts)
joins = st.lists(
    st.fixed_dictionaries(
        {
            "key": names
            | st.lists(names, min_size=1, max_size=2, unique=True)
            | st.dictionaries(names, names, min_size=1)
        },
        optional={"source": st.sampled_from(["b.csv", "b.xml"]), "csv": csv, "xml": xml},
    ).map(lambda join: join if "source" in join else {**join, "table": "t"}),
    max_size=2,
)
subsets = st.sampled_from(
    ["h.csv", {"file": "h.csv", "null": "", "header": False}, {"table": "s.t"}, {"column": " x "}]
)
present = st.tuples(subsets, some(public_only=st.sampled_from(["ignore", "reject"]))).map(
    lambda pair: {"type": "delta_presence", "min": 0, "max": 0.5, "subset": pair[0], **pair[1]}
)


@st.composite
def transformations(draw: st.DrawFn, made: dict) -> dict:
    """The key transformation, where the rest of the document allows one."""
    quality, search = made.get("quality", {}), made.get("search", {})
    if len(made["privacy"]) > 1 or quality.get("measure") == "height":
        return {}
    quasi = [name for name, column in made["columns"].items() if column["role"] == "quasi_identifier"]
    some_of = st.lists(st.sampled_from(quasi), unique=True, max_size=2) if quasi else st.just([])
    node = st.dictionaries(st.sampled_from(quasi), st.integers(0, 3), max_size=2) if quasi else st.just({})
    seed = some(seed=st.integers(0, 2**62))
    local = st.tuples(
        some(nodes=st.integers(1, 9) | st.lists(node, min_size=1, max_size=3), hold=st.sampled_from([0, 0.05, 0.9])),
        seed,
    )
    kinds = [
        st.just({}),
        st.just({"type": "full_domain"}),
        local.map(lambda p: {"type": "local_recoding", **p[0], **p[1]}),
    ]
    limits = [column.get(key) for column in made["columns"].values() for key in ("min_level", "max_level")]
    if (
        not any(limit is not None for limit in limits)
        and quality.get("aggregate") is None
        and search.get("strategy") != "anon"
    ):
        rules = some(
            solver=st.sampled_from(["greedy", "exact"] if not watched(made) else ["greedy"]),
            never=some_of,
            together=st.lists(some_of, max_size=2),
            exclusive=st.lists(some_of, max_size=2),
            at_most=st.integers(0, 3),
            outliers=st.booleans(),
        )
        listed = st.fixed_dictionaries({"patterns": st.lists(some_of, min_size=1, max_size=3)})
        ties = st.sampled_from([{}, {"ties": "colexicographic"}, {"ties": "random", "seed": 5}])
        kinds += [
            st.tuples(rules, ties).map(lambda p: {"type": "patterns", **p[0], **p[1]}),
            st.tuples(listed, ties | st.just({"ties": "listed"})).map(lambda p: {"type": "patterns", **p[0], **p[1]}),
        ]
    found = draw(st.one_of(kinds))
    if found.get("type") == "patterns" and draw(st.booleans()):
        for name in quasi:  # patterns need no hierarchies
            made["columns"][name].pop("hierarchy")
    return {"transformation": found} if found else {}


def watched(made: dict) -> bool:
    return any(column.get("models") for column in made["columns"].values())


@st.composite
def documents(draw: st.DrawFn) -> dict:
    found = draw(st.lists(names, min_size=1, max_size=4, unique_by=str.casefold))
    privacy = [{"type": "k_anonymity", "k": draw(st.integers(1, 99))}, *draw(st.lists(present, max_size=1))]
    document: dict[str, Any] = {"columns": {name: draw(columns) for name in found}, "privacy": privacy}
    document["columns"]["_"] = {"role": "keep"}
    document |= draw(
        some(
            version=st.just(1),
            files=st.sampled_from(["visits/*.csv", ["a/*.csv", "/b/**/c?.csv"]]),
            source=st.sampled_from(["s.csv", "s.xml", "https://x/y?a=1&b=2"]),
            table=names,
            csv=csv,
            xml=xml,
            join=joins,
            entity=names.map("who {}".format),
            undeclared=st.sampled_from(["error", "drop"]),
            row_security=st.sampled_from(["refuse", "accept"]),
            uncovered=st.sampled_from(["error", "top", "suppress"]),
            nulls=st.sampled_from(["extended", "basic"]),
            suppressed=st.sampled_from(["drop", "redact"]),
            if_exists=st.sampled_from(["error", "replace"]),
            quality=some(measure=st.sampled_from(["loss", "height"]), aggregate=st.sampled_from([None, "sum"])),
            search=some(
                where=st.sampled_from(["auto", "engine", "local"]),
                on_interrupt=st.sampled_from(["discard", "publish"]),
                strategy=st.sampled_from(["auto", "anon"]),
                time_limit=numbers,
                max_evaluations=st.none(),
                gap=st.just(0.1),
            ),
            output=st.sampled_from(
                [
                    None,
                    {"view": 'a"b.c'},
                    {"table": "t", "owner": "<o>"},
                    {"file": "o.parquet"},
                    {"file": "o.csv", "mode": "0640"},
                    {"view": "v", "owner": 'o"', "readers": ["r", "&"]},
                    {"live_view": "s.v", "readers": ["no"]},
                ]
            ),
            report=st.sampled_from([None, "r.html", "r.txt"]),
            engine=some(memory_limit=st.just("1GB"), threads=st.integers(1, 9), temp_directory=st.just("/tmp/x"))
            | st.fixed_dictionaries(
                {"name": st.just("spark")},
                optional={"master": names, "settings": st.dictionaries(names, texts, max_size=2)},
            ),
        )
    )
    if "files" in document:  # in the place of a source
        document = {key: value for key, value in document.items() if key not in ("source", "table")}
    document |= draw(transformations(document))
    shown = [name for name, column in document["columns"].items() if column["role"] in ("keep", "sensitive")]
    document |= draw(st.sampled_from([{}, {"accept": shown}, {"accept": shown[-1:]}]))
    return document | draw(
        st.sampled_from([{}, {"suppression_limit": 0.05}, {"suppression_limit": "0.050"}, {"suppression_count": 3}])
    )


def as_toml(value: Any) -> Any:
    """The document as TOML gives it: every fraction an exact decimal."""
    if isinstance(value, dict):
        return {key: as_toml(item) for key, item in value.items()}
    if isinstance(value, list):
        return [as_toml(item) for item in value]
    return Decimal(repr(value)) if isinstance(value, float) else value


def typed(value: Any) -> Any:
    """A document so that 1, 1.0, True and Decimal(1) differ."""
    if isinstance(value, dict):
        return {typed(key): typed(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [typed(item) for item in value]
    return (type(value), value)
