"""The words of the names of columns that say what a column holds.

In English, German, French, Spanish, Italian, Dutch, Portuguese, Polish, Swedish, Danish, Norwegian and Turkish, with
the usual abbreviations of surveys, registries and claims. A word of five letters may also stand within a part of a
name, one with ``*`` at its start or end, and one after ``=`` must be equal to it (``core/source/words.py``).
"""

from __future__ import annotations

from collections.abc import Mapping

KINDS: Mapping[str, str] = {
    "email": "email mail courriel correo epost eposta",
    "phone": "phone telephone tel telefon telefono telefone telefoon mobile mobil handy cell fax cellulare "
    "celular movil komorka mobiltelefon",
    "birth_date": "birth dob birthdate birthday bday geburt geburtsdatum geb gebdat gebj gebjahr naissance *naiss ddn "
    "nacimiento fnac fecnac nascita nascimento nasc geboortedatum geboorte =urodzenia urodz fodsel fodt foedelse "
    "dogumtarihi =dogum =yob *born",
    "zip": "zip zipcode zcta",
    "postcode": "plz postleitzahl postcode postalcode postal codepostal codigopostal pcode cap kodpocztowy "
    "postnummer postnr postakodu =cp kodpoczt",
    "latitude": "lat latitude breitengrad latitud latitudine",
    "longitude": "lon lng long longitude laengengrad longitud longitudine",
    "coordinates": "coordinates coordinate coord coords koordinaten koordinate gps geopoint geolocation latlon "
    "latlng",
    "country": "country land =nation staat pays pais paese nationality citizenship staatsangehoerigkeit "
    "nationalitaet nationalite nacionalidad nacionalidade nazionalita nationaliteit narodowosc obywatelstwo =kraj "
    "uelke uyruk nationalitet",
    "household": "hh hhid hhno hhnr hhnum household haushalt haushaltsnummer family famid famno familie famille "
    "familia menage hogar famiglia huishouden gospodarstwo hane husstand hushall",
    "provider": "hospital krankenhaus klinik =clinic provider provnum provno npi physician doctor arzt aerztin "
    "medico medecin surgeon ward =station =center =centre zentrum =site institution facility caresite insurer "
    "behandler attending prescriber kasse krankenkasse =ik hopital ospedale ziekenhuis szpital sykehus sjukhus sygehus "
    "hastane teacher lehrer physn interviewer huisarts hausarzt pharmacy apotheke employerid firmid",
    "place": "=city town =place ort wohnort stadt gemeinde municipality ville commune ciudad citta comune county "
    "distrito distretto dzielnica stadtteil "
    "=cnty kreis landkreis district bezirk region =state province provinz bundesland kanton canton birthplace "
    "geburtsort =location fips =msa =smsa =cbsa nuts =ags =tract =puma lsoa village villnum =vill suburb "
    "neighborhood quartier barrio cidade municipio concelho freguesia miasto gmina powiat wojewodztwo plaats "
    "gemeente provincie kommun kommune fylke =sehir =ilce departement =residence precinct "
    "borough parish bairro wijk buurt",
    "address": "address addr adresse anschrift street strasse rue calle via indirizzo direccion domicilio "
    "hausnummer adres =ulica endereco morada",
    "ip": "ip ipaddress ipv4 ipv6",
    "url": "url website homepage uri link webseite",
    "icd10": "icd icd10",
    "atc": "atc drug medication medikament wirkstoff arzneimittel",
    "age": "age ages alter lebensalter edad eta leeftijd idade wiek alder idad =yas agegr* agecat* ageband agecl* "
    "agebr* ageran* agebin* ageyr* ageyears agemo* agemth* childage =mage =fage husage wifeage =agey =agem "
    "=ager =altersgruppe",
    "year": "year yr jahr annee anio ano anno jaar baujahr rok yil",
    "name": "name firstname lastname surname forename fullname vorname nachname familienname nom prenom nombre "
    "apellido apellidos cognome nome achternaam voornaam fname lname imie nazwisko navn namn fornavn fornamn "
    "etternavn efternavn efternamn sobrenome apelido naam isim soyad soyadi",
    "identifier": "id ids uuid guid ssn nhs mrn nino iban bic dni cpr bsn pesel pid sozialversicherungsnummer "
    "svnr nr nummer identifier kennung passport reisepass ausweis personalnummer matrikel matrikelnummer "
    "matriculation steuernummer steuerid kennzeichen aktenzeichen fallnummer dossier expediente account "
    "kontonummer konto *login loginname loginid username userid benutzer medicalrecord licence license "
    "=plate serial token hash barcode pseudonym accountnumber key seqn seqno seqnr caseid recordid rowid rownum lfdnr "
    "laufnummer personnummer fodselsnummer =nss =nif =cpf =nit =tckn =nir codicefiscale numer numero dosya kimlik "
    "patid patno ptno ptnum patnum ptid subjid usubjid empno",
    "date": "date datum fecha data tag day timestamp time zeit zeitpunkt datetime =admission discharge aufnahme "
    "entlassung =visit besuch when wann quand cuando quando dt dat tarih dato adm admdt dischdt",
    "amount": "amount salary income price cost costs betrag gehalt einkommen lohn wage wages balance bal amt bill "
    "payment umsatz revenue gain loss charge charges premium fee summe salaire revenu ingreso importe stipendio "
    "reddito expenditure turnover limit pay inkomst indkomst inntekt inkomen salario renda dochod gelir maas "
    "kosten cout costo =custo =custos koszt",
    "free_text": "comment comments note notes remark remarks bemerkung bemerkungen kommentar text freitext "
    "description beschreibung befund anamnesis anamnese narrative message nachricht memo observation observations =obs "
    "commentaire comentario observacoes uwagi opmerking opmerkingen anmaerkning merknad yorum",
}  # fmt: skip
"""What a column looks like -> the words of its name that say so; the first kind that fits counts."""
PERSONS = (
    "patient", "patiente", "patienten", "paciente", "person", "personne", "persona", "customer", "kunde", "kunden",
    "client", "cliente", "employee", "mitarbeiter", "empleado", "salarie", "member", "mitglied", "adherent", "student",
    "schueler", "etudiant", "eleve", "alumno", "participant", "proband", "teilnehmer", "user", "utilisateur", "usuario",
    "versicherte", "versicherter", "versicherten", "assure", "asegurado", "holder", "subject", "respondent",
    "paziente", "patientin", "pacjent", "klient", "kund", "pessoa", "osoba", "medarbejder", "deltaker",
    "beneficiary", "subscriber", "borrower", "donor", "inmate", "pupil", "subj", "repondant", "enquete", "encuestado",
    "befragte", "befragter", "befragten", "intervistato", "respondente", "worker", "trabajador", "lavoratore",
)  # fmt: skip
"""Words of persons whom records are about."""
RELATIVES = (
    "child", "kid", "mother", "mom", "mum", "father", "baby", "infant", "newborn", "twin", "woman", "man",
    "girl", "boy", "mutter", "enfant", "mere", "hijo", "madre", "bambino",
)  # fmt: skip
"""Words of persons that alone say what is known of one, as whether there is a child, and before ``id`` name one."""
PERSONAL = (
    "firstname", "lastname", "surname", "forename", "fullname", "vorname", "nachname", "familienname", "prenom",
    "apellido", "apellidos", "cognome", "achternaam", "voornaam", "fname", "lname", "first", "last", "full", "given",
    "family", "famille", "usage", "pila", "middle", "maiden", "contact", "imie", "nazwisko", "fornavn", "fornamn",
    "etternavn", "efternavn", "efternamn", "sobrenome", "apelido", "soyad", "soyadi", *PERSONS,
)  # fmt: skip
"""Words beside which a name is that of a person, and not of a product or a place."""
RATIOS = frozenset((
    "percent", "percentage", "pct", "rate", "ratio", "share", "proportion", "prozent", "anteil", "quote", "pourcentage",
    "taux", "porcentaje", "tasa", "percentuale", "tasso", "percentagem", "taxa", "procent", "andel",
))  # fmt: skip
"""Words that end the names of numbers that are no one's, whatever stands before them: ``account_usage_percent``."""
MEASURES = frozenset((
    "length", "duration", "amount", "balance", "total", "count", "dauer", "betrag", "saldo", "duree", "montant",
))  # fmt: skip
"""The same, unless a number of persons stands before them: ``account_length``, and not ``customer_id_total``."""
OF_A_NUMBER = "id ids no nr num number nummer numero numer code cd key of the source value"
"""Parts of a name that add nothing but that it is a number."""
