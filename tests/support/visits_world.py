"""Visits of persons with all that names them: as it is written in registers, and hidden in other texts and numbers."""

import base64
import datetime
import hashlib
import json
import random

import pyarrow as pa

FIRST = [
    "Anna", "Ben", "Clara", "David", "Emma", "Felix", "Greta", "Hans", "Ida", "Jonas", "Karla", "Leo", "Mia", "Noah",
    "Olga", "Paul", "Rosa", "Sven", "Tina", "Uwe",
]  # fmt: skip
STEMS, ENDS = ("Mey", "Schmi", "Wag", "Beck", "Hof", "Kel", "Lan", "Neu"), ("er", "dt", "ner", "mann", "ling", "berg")
LAST = [stem + end for stem in STEMS for end in (*ENDS, "feld", "ke")]
WARDS = ["Internal Medicine", "General Surgery", "Cardiology", "Pediatrics", "Intensive Care"]

NAMING = (
    "mail_upper", "mail_padded", "ssn", "prefixed", "document", "page", "full", "number", "birth", "birth_text",
    "coded", "hashed", "notes", "lat", "lon", "rest", "login", "capitals", "spaced", "patient_id",
)  # fmt: skip
"""Columns that name the person of a visit, in all visits of the person alike."""
HARMLESS = ("stay", "charges", "whole_charges", "ward", "icd", "room")


def registered_visits(rows: int, people: int = 300, seed: int = 1) -> pa.Table:
    """``rows`` visits of each person. Age, ZIP code and sex are those of the person, the month is that of the visit."""
    draw, records = random.Random(seed), []
    for person in range(people):
        ssn = f"{draw.randrange(100, 900)}-{draw.randrange(10, 99)}-{draw.randrange(1000, 9999)}"
        digits, first, last = ssn.replace("-", ""), draw.choice(FIRST), draw.choice(LAST)
        user = f"{first}.{last}{person}".lower()
        birth = datetime.datetime(1940, 1, 1) + datetime.timedelta(days=draw.randrange(25_000))
        note = f"{first} has had a cough for {draw.randrange(2, 30)} days and lives in house {draw.randrange(300)}"
        own = {
            "age": 2024 - birth.year, "zip": f"{draw.randrange(12):03d}", "sex": draw.choice("fm"),
            "mail_upper": f"{user}@example.org".upper(), "mail_padded": f"  {user}@example.org ", "ssn": ssn,
            "prefixed": f"PAT#{digits}/A", "document": json.dumps({"v": 1, "no": int(digits)}),
            "page": f"https://portal.example.org/u/{user}/home", "first_name": first, "last_name": last,
            "full": f"{first} {last}", "number": draw.randrange(4_300_000_001, 4_399_999_999), "birth": birth,
            "birth_text": birth.strftime("%d.%m.%Y"), "coded": base64.b64encode(ssn.encode()).decode(),
            "hashed": hashlib.sha256(ssn.encode()).hexdigest(), "notes": note,
            "lat": round(46 + 3 * draw.random(), 5), "lon": round(9 + 8 * draw.random(), 5), "rest": ssn[4:],
            "login": user, "capitals": f"{last.upper()}, {first.upper()}", "spaced": " ".join(ssn),
            "patient_id": person * 7 + 3,
        }  # fmt: skip
        for _ in range(rows):
            visit = {
                "month": draw.randrange(12), "stay": draw.choice([1, 2, 2, 3, 3, 4, 5, 7]),
                "charges": round(draw.lognormvariate(7, 1), 2), "whole_charges": int(draw.lognormvariate(7, 1)),
                "ward": draw.choice(WARDS),
                "icd": f"{draw.choice('ABCDEFGHIJ')}{min(int(draw.paretovariate(1)), 40):02d}",
                "room": draw.randrange(25),
            }  # fmt: skip
            records.append(own | visit)
    draw.shuffle(records)
    return pa.Table.from_pylist(records)
