"""The names of every relation and column that sqlanon creates, in one place.

Relations of a search stand in a database in memory of our own, or, in a connection of the user's, are temporary
tables of a cursor of ours: they cannot collide with the user's tables, and the prefix keeps them apart from temporary
ones too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

PREFIX = "sqlanon_"
STAGED = PREFIX + "staged"
READ_LIVE = PREFIX + "read_live"
"""The rows of a live view as they were read once, for its audits."""
JOINED = PREFIX + "joined"
"""The records of a source and of what was joined to it by key."""
CARRIED = PREFIX + "carried"
"""The release of an engine that writes no files."""
WRITTEN = PREFIX + "written"
"""The records of a release file that the engine does not read itself, as they were read back."""
VALUES = PREFIX + "values"
"""The distinct values of all encoded columns with their counts; ``attribute`` is the position of the column."""
LISTED = PREFIX + "listed"
"""The rows that the hierarchies of all columns list."""
BRANCHES = PREFIX + "branches"
"""The distinct values with what their hierarchies say of them, before their codes are packed."""
LOOKUP = PREFIX + "lookup"
"""The lookups of all encoded columns: value, texts and leaves of its levels, and its bits in each word of the key."""
BASE = PREFIX + "base"
LEAF = PREFIX + "leaf"
MASKS = PREFIX + "masks"
ORIGINALS = PREFIX + "originals"
"""The distinct combinations of original values, from which the verification of a certificate judges nodes."""
GENERALIZED = PREFIX + "generalized"
"""The same combinations with the numbers of their texts at the levels of some nodes (verification)."""
CERTIFIED = PREFIX + "certified"
"""The nodes of a certificate with their levels, by number (verification)."""
JUDGED = PREFIX + "judged"
"""The classes of some nodes, and which of them fail (verification)."""
LEAST_COSTS = PREFIX + "least_costs"
"""What suppressing a text of a level costs at least (verification)."""
ROW_TYPES = PREFIX + "row_types"
"""The distinct rows of quasi-identifiers with a number each (patterns)."""
PATTERNS = PREFIX + "patterns"
"""The patterns that were tried, with their numbers and masks."""
KEPT = PREFIX + "kept"
"""Patterns that keep few columns, by which others are skipped."""
DECIDED = PREFIX + "decided"
"""Which row type which pattern took."""
ASSIGNED = PREFIX + "assigned"
"""The row types with their records and the rule (pattern or node) that publishes them."""
PATTERN = "pattern"
RULE = "rule"
"""Column of ``ASSIGNED``: the number of the pattern or node that publishes a row type; NULL: it is suppressed."""
STRETCH_FIRST = "first"
STRETCH_LAST = "last"
"""Columns of ``ASSIGNED`` where rules share the records of a row type: the first and the last record that a rule
publishes, counted from 1."""
RULES = PREFIX + "rules"
"""The levels of every rule that publishes, by its number."""
COUNT = "n"
POPULATION = "population"
"""Column of a grain that counts the records of the population, beside ``n`` of the subset (δ-presence)."""
ENTITY = PREFIX + "entity"
"""Column of a source, of a grain and of staged rows: the number of the entity (a person, say) of a record."""
ENTITIES = PREFIX + "entities"
"""The entities of a source, by their canonical texts, with their numbers."""
STAGED_RELEASE = PREFIX + "staged_release"
"""The released rows with their entities, which are audited before the release is written without them."""
BESIDE = PREFIX + "beside"
"""The published records with what is judged beside their quasi-identifiers."""
ORDERED = PREFIX + "ordered"
"""The distinct rows of a release in the order of their values, with how often each is written."""
COPIES = PREFIX + "copies"
"""Column of counted rows: how often each stands."""
COPIED = PREFIX + "copied"
"""The rows that a release must be a copy of, where another engine audits it."""
RELEASED_TYPES = PREFIX + "released_types"
"""The distinct combinations of quasi-identifiers with their records and the rule that publishes them (utility)."""
RELEASED_RECORDS = PREFIX + "released_records"
"""The records that take part by their row types, with the rule that publishes them and their other values (utility)."""
OTHER_VALUES = PREFIX + "other_values"
"""The distinct values of the columns that are no quasi-identifiers, with their records, before and after (utility)."""
RULE_LEVELS = PREFIX + "rule_levels"
"""The levels of every rule by its number (utility)."""
CATEGORIES = PREFIX + "categories"
"""The category that each value counts as, before and as it is published at a level (utility)."""
COMPARED = PREFIX + "compared"
"""The records by their categories, before and after (utility)."""
PARTED = PREFIX + "parted"
"""The same with how many of the records a prediction is tested on (utility)."""
LIKELIHOODS = PREFIX + "likelihoods"
"""The logarithms that a naive Bayes adds up (utility)."""
SHOWN_VALUES = PREFIX + "shown_values"
"""The generalized values that charts of utility name."""
BOUNDS = PREFIX + "bounds"
"""The bounds of the texts that a release publishes, as texts (``publish``); a digest of their levels follows."""
MEMBER = PREFIX + "member"
"""Column of a source that marks the records of the subset (δ-presence)."""
SUBSET = PREFIX + "subset"
"""The records of a subset file that the engine does not read itself."""
RECORDS = PREFIX + "records"
"""The records of the population with their membership, when the subset is a relation of its own."""
SUPPRESSED_MARKER = "[suppressed]"
"""The text in every column of a redacted record, unless the release holds that very text (see publication)."""


def namer(stem: str) -> Callable[[int], str]:
    """Return the function that names the relations or columns of one kind: ``stem``, and a position, level or word."""
    return lambda number: f"{stem}_{number}"


joined_part = namer(PREFIX + "joined")
"""Name of the table of the records of the joined source at a position, if it is no relation yet."""
lookup = namer(PREFIX + "lookup")
"""Name under which a statement reads the rows of ``LOOKUP`` of the column at a position."""
frozen = namer(PREFIX + "frozen")
"""Name of the table of values and texts at the level of a live view, of the quasi-identifier at a position."""
raw = namer("raw")
"""Name of the column of ``VALUES`` that holds the values of the column at a position in their own type."""
overall = namer(PREFIX + "overall")
"""Name of the table of the distribution of the sensitive attribute at a position among all records."""
ancestors = namer(PREFIX + "ancestors")
"""Name of the table of the ancestors of the values of the sensitive attribute at a position."""
grain = namer(PREFIX + "grain")
"""Name of the view of a grain that a batch is judged from, so that the text of a batch never names a snapshot."""
level = namer("level")
"""Name of the column that holds the published text of a level."""
text_number = namer("text")
"""Name of the column that numbers the texts of a level (verification)."""
key = namer("key")
"""Name of the column that holds a word of the packed path code."""
mask = namer("mask")
"""Name of the column that holds what a pattern keeps of a word of the key."""


def snapshot(node: Sequence[int]) -> str:
    """Return the name of the snapshot at ``node``; it depends on the node alone, never on a threshold."""
    return f"{PREFIX}snapshot_" + "_".join(map(str, node))


def matching(wanted: str, among: Iterable[str]) -> list[str]:
    """Return the name itself if it is ``among`` some names, else those that differ from it by case only."""
    known = [*among]
    return [wanted] if wanted in known else [name for name in known if name.casefold() == wanted.casefold()]


def unused(wanted: str, taken: Iterable[str]) -> str:
    """Return ``wanted``, or ``wanted`` with a number, so that it differs from every name in ``taken`` (any case)."""
    lowered = {name.casefold() for name in taken}
    name, number = wanted, 1
    while name.casefold() in lowered:
        number += 1
        name = f"{wanted}_{number}"
    return name
