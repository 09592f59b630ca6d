"""A table of persons with columns of all kinds: dates as text, mixed types, codes, free text, German names."""

import datetime
import random

import pyarrow as pa

COLUMNS: dict[str, tuple[str, str]] = {
    "Patienten-Nr": ("identifier", "identifier"),
    "Vorname": ("name", "identifier"),
    "Geburtsdatum": ("birth_date", "quasi_identifier"),
    "Alter": ("age", "quasi_identifier"),
    "PLZ": ("postcode", "quasi_identifier"),
    "Geschlecht": ("category", "quasi_identifier"),
    "E-Mail": ("email", "identifier"),
    "Telefon": ("phone", "identifier"),
    "Hauptdiagnose": ("icd10", "sensitive"),
    "wirkstoff": ("atc", "sensitive"),
    "Aufnahme": ("date", "quasi_identifier"),
    "Kosten": ("amount", "quasi_identifier"),
    "Bemerkung": ("free_text", "identifier"),
    "lat": ("latitude", "drop"),
    "lon": ("longitude", "drop"),
    "Gewicht": ("other", "quasi_identifier"),
    "leer": ("empty", "drop"),
    "immer": ("constant", "keep"),
    "Raucher": ("flag", "sensitive"),
    "zugriff": ("ip", "identifier"),
    'odd "name"': ("category", "keep"),
    "Land": ("country", "quasi_identifier"),
    "schluessel": ("uuid", "identifier"),
    "Religion": ("category", "sensitive"),
}
"""Column -> what it looks like, and the role that a profile suggests."""


def people(records: int, seed: int = 7) -> pa.Table:
    """Return a table of persons, all of its values texts."""
    chance = random.Random(seed)
    rows = []
    for number in range(records):
        born = datetime.date(1930, 1, 1) + datetime.timedelta(days=chance.randrange(27_000))
        came = datetime.date(2020, 1, 1) + datetime.timedelta(days=chance.randrange(900))
        words = [chance.choice(["stable", "seen", "again", "without", "pain", "since", "monday"]) for _ in range(9)]
        rows.append(
            (
                f"P{number:06d}",
                chance.choice(["Annegret", "Bernhard", "Chloé", "Dörthe", "Émilie", "Friedrich"]),
                born.strftime("%d.%m.%Y"),
                str(chance.randint(18, 95)),
                f"{chance.randint(1_000, 99_999):05d}",
                chance.choice(["m", "w", "d"]),
                f"person{number}@example.org",
                f"+49 30 {chance.randint(10**6, 10**7)}",
                chance.choice(["J45.0", "E11.9", "I10", "C50.1", "F32.2", "K29"]),
                chance.choice(["A10BA02", "C07AB02", "N02BE01"]),
                came.isoformat(),
                f"{chance.random() * 9_000:.2f}",
                " ".join(words),
                f"{48 + chance.random():.5f}",
                f"{13 + chance.random():.5f}",
                chance.choice(["70", "80", "90.5", "unknown", "n/a"]),
                None,
                "x",
                chance.choice(["ja", "nein"]),
                f"10.0.{chance.randrange(255)}.{chance.randrange(255)}",
                str(chance.randrange(5)),
                chance.choice(["DE", "AT", "CH"]),
                f"{chance.getrandbits(128):032x}",
                chance.choice(["rk", "ev", "none"]),
            )
        )
    columns = list(zip(*rows, strict=True))
    return pa.table({name: pa.array(columns[i], pa.string()) for i, name in enumerate(COLUMNS)})
