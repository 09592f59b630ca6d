"""What the name of a column is about, by its words, in English, German, French, Spanish, Italian and Dutch.

A name is cut at everything that is no letter, and where a small letter meets a capital one. Short words must be equal
to a part of the name; long ones (``LONG`` letters) may also stand within a compound, as in ``geburtsdatum``.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from functools import cache
from itertools import pairwise

LONG = 5
"""Letters of a word that is looked for within others."""
_FOLDED = {"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss", "æ": "ae", "ø": "o", "œ": "oe"}

KINDS: Mapping[str, str] = {
    "email": "email mail courriel correo epost",
    "phone": "phone telephone tel telefon telefono telefoon mobile mobil handy cell fax cellulare",
    "birth_date": "birth dob birthdate birthday bday geburt geburtsdatum geb gebdat naissance nacimiento nascita "
    "geboortedatum geboorte",
    "zip": "zip zipcode",
    "postcode": "plz postleitzahl postcode postalcode postal pcode cap",
    "latitude": "lat latitude breitengrad latitud latitudine",
    "longitude": "lon lng long longitude laengengrad longitud longitudine",
    "coordinates": "coordinates coordinate coord coords koordinaten koordinate gps geopoint geolocation latlon latlng",
    "country": "country land nation staat pays pais paese nationality citizenship staatsangehoerigkeit "
    "nationalitaet nationalite nacionalidad",
    "place": "city town place ort wohnort stadt gemeinde municipality ville commune ciudad citta comune county kreis "
    "landkreis district bezirk region state province provinz bundesland kanton canton birthplace geburtsort location",
    "address": "address addr adresse anschrift street strasse rue calle via indirizzo direccion "
    "domicilio domicile hausnummer",
    "ip": "ip ipaddress ipv4 ipv6",
    "url": "url website homepage uri link webseite",
    "icd10": "icd icd10",
    "atc": "atc drug medication medikament wirkstoff arzneimittel",
    "age": "age alter lebensalter edad eta leeftijd",
    "year": "year yr jahr annee anio jaar baujahr",
    "name": "name firstname lastname surname forename fullname vorname nachname familienname nom prenom nombre "
    "apellido apellidos cognome nome achternaam voornaam fname lname",
    "identifier": "id ids uuid guid ssn nhs mrn nino iban bic dni cpr bsn pesel pid sozialversicherungsnummer svnr "
    "nr nummer identifier kennung passport reisepass ausweis personalnummer matrikel matrikelnummer matriculation "
    "steuernummer steuerid kennzeichen aktenzeichen fallnummer dossier expediente account kontonummer konto login "
    "username userid benutzer medicalrecord licence license plate serial token hash pseudonym accountnumber key",
    "date": "date datum fecha data tag day timestamp time zeit zeitpunkt datetime admission discharge aufnahme "
    "entlassung visit besuch when wann quand cuando quando",
    "amount": "amount salary income price cost costs betrag gehalt einkommen lohn wage wages balance bal amt bill "
    "payment umsatz revenue gain loss charge charges premium fee summe salaire revenu ingreso importe stipendio "
    "reddito expenditure turnover limit pay",
    "free_text": "comment comments note notes remark remarks bemerkung bemerkungen kommentar text freitext "
    "description beschreibung befund anamnesis anamnese narrative message nachricht memo observation observations",
}  # fmt: skip
"""What a column looks like -> the words of its name that say so; the first kind that fits counts."""
PERSONS = (
    "patient", "patiente", "patienten", "paciente", "person", "personne", "persona", "customer", "kunde", "kunden",
    "client", "cliente", "employee", "mitarbeiter", "empleado", "salarie", "member", "mitglied", "adherent", "student",
    "schueler", "etudiant", "eleve", "alumno", "participant", "proband", "teilnehmer", "user", "utilisateur", "usuario",
    "versicherte", "versicherter", "versicherten", "assure", "asegurado", "holder",
)  # fmt: skip
"""Words of persons whom records are about."""
NUMBERED = frozenset(
    word
    for person in PERSONS
    for number in ("id", "no", "nr", "num", "number", "nummer", "numero")
    for word in (person + number, number + person)
)
"""What a column of their numbers is called: ``customer_no``, ``numero_de_client``, ``patientid``."""
PERSONAL = (
    "firstname", "lastname", "surname", "forename", "fullname", "vorname", "nachname", "familienname", "prenom",
    "apellido", "apellidos", "cognome", "achternaam", "voornaam", "fname", "lname", "first", "last", "full", "given",
    "family", "famille", "usage", "pila", "middle", "maiden", "contact", *PERSONS,
)  # fmt: skip
"""Words beside which a name is that of a person, and not of a product or a place."""

TOPICS: Mapping[str, str] = {
    "sex": "sex gender geschlecht sexe sexo genere genero geslacht",
    "race": "race ethnicity ethnic ethnie ethnicite etnia hautfarbe",
    "religion": "religion religious konfession faith church denomination religione bekenntnis",
    "health": "diagnosis diagnose diagnoses diagnostic diagnostico disease illness icd icd10 hiv therapy therapie "
    "treatment medication medikament drug atc symptom symptoms allergy allergie disability behinderung krankheit "
    "behandlung blood blutgruppe pregnancy pregnant bmi smoker raucher disorder cancer tumor "
    "contraceptive mortality comorbidity lab cholesterol glucose",
    "money": "salary income gehalt einkommen lohn wage wages balance debt schulden credit kredit default score rating "
    "schufa revenu salaire ingreso reddito stipendio wealth insolvency",
    "politics": "party political politics partei vote voting wahl",
    "sexuality": "orientation sexuality sexualitaet",
    "crime": "offence offense crime criminal conviction arrest straftat vorstrafe delikt sentence verdict",
    "biometrics": "fingerprint iris biometric biometrie dna genome genotype genetic fingerabdruck",
    "union": "gewerkschaft tradeunion",
    "marital": "marital married marriage familienstand zivilstand civilstatus marstat situation_familiale estado_civil",
    "education": "education educ school schooling degree bildung abschluss schulabschluss ausbildung formation "
    "educacion istruzione qualification weducation heducation",
    "occupation": "occupation job beruf profession workclass employer arbeitgeber work branche industry ocupacion "
    "professione metier taetigkeit position",
    "household": "children child kinder household haushalt dependents relationship",
}  # fmt: skip
"""What the name of a column is about -> its words."""
SENSITIVE: Mapping[str, str] = {
    "religion": "religion", "health": "health", "money": "income or credit", "politics": "political opinions",
    "sexuality": "sexuality", "crime": "offences", "biometrics": "biometric or genetic data",
    "union": "membership in a trade union",
}  # fmt: skip
"""Topics that others must not learn of a person, in words. Articles 9 and 10 of the GDPR name all but money."""
KNOWN: Mapping[str, str] = {
    "sex": "sex", "race": "race or ethnic origin", "marital": "marital status", "education": "education",
    "occupation": "work", "household": "family",
}  # fmt: skip
"""Topics that others know or find out about a person, in words."""


def parts_of(name: str) -> tuple[str, ...]:
    """Return the words of a name in small letters of ASCII.

    >>> parts_of("Native-Country"), parts_of("dateOfBirth"), parts_of("GEBURTSDATUM_2"), parts_of("Größe")
    (('native', 'country'), ('date', 'of', 'birth'), ('geburtsdatum',), ('groesse',))
    """
    cut = re.sub(r"(?<=[a-zäöüß])(?=[A-ZÄÖÜ])", " ", name)
    folded = "".join(_FOLDED.get(letter, letter) for letter in cut.casefold())
    plain = unicodedata.normalize("NFKD", folded).encode("ascii", "ignore").decode()
    return tuple(re.findall(r"[a-z]+(?:(?<=icd)10|(?<=ipv)[46])?", plain))


@cache
def kinds_of(name: str) -> tuple[str, ...]:
    """Return what a name says that its column looks like, the likeliest first."""
    numbered = speaks_of_persons(name)
    return tuple(
        kind
        for kind, words in KINDS.items()
        if _speaks_of(parts_of(name), words) or (kind == "identifier" and numbered)
    )


def speaks_of_persons(name: str) -> bool:
    """Return whether a column is called the person, or the number of one.

    >>> speaks_of_persons("customer_no"), speaks_of_persons("Numéro du client"), speaks_of_persons("patient_weight")
    (True, True, False)
    """
    parts = [part for part in parts_of(name) if part not in ("de", "del", "du", "des", "la", "of")]
    words = {*parts, *map("".join, pairwise(parts))}
    return not NUMBERED.isdisjoint(words) or (len(parts) == 1 and parts[0] in PERSONS)


@cache
def topic_of(name: str) -> str | None:
    """Return what a name is about, if it says so.

    >>> topic_of("MARITAL_STATUS"), topic_of("Familienstand"), topic_of("x")
    ('marital', 'marital', None)
    """
    parts = parts_of(name)
    return next((topic for topic, words in TOPICS.items() if _speaks_of(parts, words)), None)


def _speaks_of(parts: tuple[str, ...], words: str) -> bool:
    """Return whether one of some words is a part of a name, or stands within one."""
    known = words.split()
    joined = "".join(parts)
    return any(part in known for part in parts) or any(
        len(word) >= LONG and any(word in part for part in (*parts, joined)) for word in known
    )
