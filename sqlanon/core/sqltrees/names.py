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
RECORD, COHORT = PREFIX + "record", PREFIX + "cohort"
"""Columns of a row that a live view with an epoch shows: the key of its record, and the group with which it came."""
PART = PREFIX + "part"
"""The column that numbers the records that may come or go together at the end of an epoch."""
PRESENT = PREFIX + "present"
"""The rows of a source as a live view with an epoch would show them at its end."""
FATES = PREFIX + "fates"
"""The records that a live view showed, and whether the source has them so still."""
PASSING = PREFIX + "passing"
"""The parts (``PART``) that meet the models by themselves."""
LARGE = PREFIX + "large"
"""The parts (``PART``) that are as large as the models ask for."""
REMAINING, GONE = PREFIX + "remaining", PREFIX + "gone"
"""The records that a live view goes on to show, and the rows that it does not."""
NEWCOMERS = PREFIX + "newcomers"
"""The rows that a live view may show first."""
COMING, FAILED = PREFIX + "coming", PREFIX + "failed"
"""The rows that come, and the records that were enough and did not meet the models."""
ALONG = PREFIX + "along"
"""The records that go with others of their group, which are overdue."""
NODE_PLACE, SINCE = PREFIX + "place", PREFIX + "since"
"""Columns of a row that is shown in a group: the place of its node in a chain, and the number of the state since which
it is shown as it was; NULL: it is so still."""
ERASED = PREFIX + "erased"
"""The records that are to be erased: they go at once."""
SHOWN, LEFT, NEXT = PREFIX + "shown", PREFIX + "left", PREFIX + "next"
"""The rows that the last release in cohorts showed, the records that left, and the rows of the next release."""
JOINED = PREFIX + "joined"
"""The records of a source and of what was joined to it by key."""
SAMPLED = PREFIX + "sampled"
"""The records of a source that were drawn by key (``sample``)."""
PERIODS = PREFIX + "periods"
"""The records of the closed periods of a source that were not released yet."""
CARRIED = PREFIX + "carried"
"""The release of an engine that writes no files."""
WRITTEN = PREFIX + "written"
"""The records of a release file that the engine does not read itself, as they were read back; or an attached one."""
REPLACED = PREFIX + "replaced"
"""An earlier release that a new one replaces, where it is read for their comparison."""
VALUES = PREFIX + "values"
"""The distinct values of all encoded columns with their counts; ``attribute`` is the position of the column."""
LISTED = PREFIX + "listed"
"""The rows that the hierarchies of all columns list."""
BRANCHES = PREFIX + "branches"
"""The distinct values with their rows of the hierarchies, before their codes are packed."""
LOOKUP = PREFIX + "lookup"
"""The lookups of all encoded columns: value, texts and leaves of its levels, and its bits in each word of the key."""
CODED = PREFIX + "coded"
"""The records that the base counts: their keys, and in ``column_<place>`` what is published as it is."""
BASE = PREFIX + "base"
BASE_SAMPLE = PREFIX + "base_sample"
"""Some rows of the base, from which the rows of grains are estimated."""
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
PROFILES = PREFIX + "profiles"
"""The profiles of the persons of some nodes (verification)."""
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
"""Column of a grain that counts the records of the population, beside ``n`` of the subset (δ-presence) or of the sample
(k-map)."""
ENTITY = PREFIX + "entity"
"""Column of a source, of a grain and of staged rows: the number of the entity (a person, say) of a record."""
ENTITIES = PREFIX + "entities"
"""The entities of a source, by their canonical texts, with their numbers."""
RELEASE_KEY = PREFIX + "release_key"
"""The key of a release, a row a purpose; it is there while the keyed hashes of a release are computed."""
KEY_COLUMNS = ("purpose", "inner_block", "outer_block")
KEYED = PREFIX + "keyed"
"""The persons of a source with their pseudonyms and days, as long as the rows of a release are put together."""
LEDGER_PERSONS = PREFIX + "ledger_persons"
"""The persons of a source with their keyed digests, by which a ledger of releases knows them."""
LEDGER_VALUES = PREFIX + "ledger_values"
"""The sensitive values of a release that is recorded, with their keyed digests."""
LEDGER_CLASS = PREFIX + "class"
"""Column of released rows with their persons: the number of the class (ledger of releases)."""
AUDITED_CLASSES = PREFIX + "audited_classes"
"""The classes of a release that is audited, with their records."""
STAGED_RELEASE = PREFIX + "staged_release"
"""The released rows with their entities, which are audited before the release is written without them."""
SETTLED = PREFIX + "settled"
"""The judged classes of one node, which release models settle; what for, and the number of the version, follow."""
VALUE_PLACES = PREFIX + "value_places"
"""What suppressing a generalized value costs, and its place in the order of the texts of its column and level."""
PLACE = "place"
"""Column: the place of a value, or of a class among those of its size, in the order of suppression, from 1 on."""
GO_FIRST = PREFIX + "go_first"
"""The places of equal classes, with those in the order in which they are suppressed."""
KNOWN_SETS = PREFIX + "known_sets"
"""The sets of quasi-identifiers that an attacker may know; the number of the table follows."""
FALLEN = PREFIX + "fallen"
"""The classes on which fewer records than k agree on a set."""
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
ATTACKED_RELEASE = PREFIX + "attacked_release"
"""The rows of a release that is attacked, if its file is read into a table (attack)."""
KNOWN_VALUES = PREFIX + "known_values"
"""The values of the quasi-identifiers by number, with their texts (attack)."""
KNOWN_TEXTS = PREFIX + "known_texts"
"""The text of each value at each level that may be published, by numbers (attack)."""
KNOWN_WORDS = PREFIX + "known_words"
"""The values of the columns beside the quasi-identifiers, of source and release, by number (attack)."""
TARGETS = PREFIX + "targets"
"""The records of the source by the numbers of their values (attack)."""
TARGET_TYPES = PREFIX + "target_types"
"""Their distinct combinations of quasi-identifiers, by number (attack)."""
RELEASED_ROWS = PREFIX + "released_rows"
"""The rows of the release by the numbers of their texts and values, and of their class (attack)."""
RELEASED_CLASSES = PREFIX + "released_classes"
"""The classes of the release with their records (attack)."""
COVERING = PREFIX + "covering"
"""Which classes of the release cover which combinations of quasi-identifiers (attack)."""
GUESSES = PREFIX + "guesses"
"""What an attacker guesses of each combination of known values; the number of the guess follows (attack)."""
LEARNT = PREFIX + "learnt"
"""How often the release shows each value with each sensitive value, in parts of rows (attack)."""
SHOWN_VALUES = PREFIX + "shown_values"
"""The generalized values that charts of utility name."""
BOUNDS = PREFIX + "bounds"
"""The bounds of the texts that a release publishes, as texts (``publish``); a digest of their levels follows."""
OWN_ROW = PREFIX + "own_row"
"""Column of a linked table: the number of the row among those of its table; NULL where the table has no key."""
PARENT_ROW = PREFIX + "parent_row"
"""Column of a linked table: the number of the row that it belongs to in the table of its parent."""
PERSON = PREFIX + "person"
"""Column of a linked table, and of the persons that are published or left out: the number of the person."""
LEFT_OUT = PREFIX + "left_out"
"""The persons with a NULL in a quasi-identifier of any of their rows (basic match, several tables)."""
PUBLISHED = PREFIX + "published"
"""The persons that are published (several tables)."""
EARLIER = PREFIX + "earlier"
"""Column of a source: the number of the classes that a record is in, in the earlier releases (ledger)."""
FORMER = PREFIX + "former_"
"""Columns of a source: a sensitive value that an earlier release shows of a person, where some changed since (ledger);
the numbers of the release and of the column follow. NULL: it shows none."""
PRESENT_VALUES = PREFIX + "present_values"
"""The digests of the sensitive values that persons have now (ledger)."""
EARLIER_CLASSES = PREFIX + "earlier_classes"
"""The numbers of the classes of earlier releases, with how many persons have each (``members``)."""
EARLIER_PERSONS = PREFIX + "earlier_persons"
"""The persons of the earlier releases with the number of their classes there."""
MEMBER = PREFIX + "member"
"""Column of a source that marks the records of the subset (δ-presence)."""
SUBSET = PREFIX + "subset"
"""The records of a subset file that the engine does not read itself."""
PEOPLE = PREFIX + "people"
"""The records of a population file that the engine does not read itself, or of which a sample was drawn (k-map)."""
RECORDS = PREFIX + "records"
"""The records of the population with their membership, when the subset is a relation of its own."""
COUNTED = PREFIX + "counted"
"""The released cells of tables of counts, in their order."""
SUPPRESSED_MARKER = "[suppressed]"
"""The text in every column of a redacted record, unless the release holds that very text (see publication)."""


def namer(stem: str) -> Callable[[int], str]:
    """Return the function that names the relations or columns of one kind: ``stem``, and a position, level or word."""
    return lambda number: f"{stem}_{number}"


ledger_members = namer(PREFIX + "ledger_members")
"""Name of the table of the members of an earlier release, by its number in a ledger."""
ledger_sensitive = namer(PREFIX + "ledger_sensitive")
"""Name of the table of the sensitive values of the members of an earlier release, by its number in a ledger."""
joined_part = namer(PREFIX + "joined")
"""Name of the table of the records of the joined source at a position, if it is no relation yet."""
linked = namer(PREFIX + "linked")
"""Name of the copy of the table at a position, whose rows know their parents and persons by number."""
row_keys = namer(PREFIX + "row_keys")
"""Name of the table of the keys of the table at a position, with the numbers of their rows and persons."""
linked_lookup = namer(PREFIX + "linked_lookup")
"""Name under which the lookups of the table at a position are kept while others are encoded."""
pseudonyms = namer(PREFIX + "pseudonyms")
"""Name of the table of the pseudonyms of the rows of the table at a position, by their numbers."""
staged_table = namer(PREFIX + "staged_table")
"""Name of the released rows of the table at a position, before they are written."""
beside_linked = namer(PREFIX + "beside_linked")
"""Name of the database, or of the records of the file, that the table at a position is read from."""
lookup = namer(PREFIX + "lookup")
"""Name under which a statement reads the rows of ``LOOKUP`` of the column at a position."""
keyed = namer(PREFIX + "keyed")
"""Name of the column of a source that holds what is published of a column that is made by a key."""
original = namer(PREFIX + "original")
"""Name of the column of staged rows that holds a date as it was, before it was shifted."""
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
