"""The words of the names of columns, and of their values, that say what a column is about.

In the languages of ``core/source/vocabulary.py``, and written as there.
"""

from __future__ import annotations

from collections.abc import Mapping

TOPICS: Mapping[str, str] = {
    "sampling": "=psu =cluster =ssu =strata =stratum =perwt =hhwt =pwgtp =wgtp =fnlwgt finalwt *finwgt wtfinl asecwt "
    "earnwt "
    "pweight fweight dweight =pspwght samplingweight sampleweight surveyweight designweight weightfactor "
    "hochrechnung =hrf =phrf =hhrf designgewicht gewichtung =fexp factorexpansion fatorexpansao expansionfactor "
    "ponderation ponderacion ponderazione wegingsfactor",
    "sex": "sex gender geschlecht sexe sexo genere genero geslacht sesso plec koen kon kjonn cinsiyet anrede "
    "salutation civilite aanhef",
    "race": "race racegrp racecat ethrace* raceeth* ethgrp "
    "raceth ethnicity ethnic ethn ethnie ethnicite etnia etnicidade hautfarbe herkunft herkomst raca "
    "pochodzenie migration =origin =language =lang mothertongue muttersprache languematernelle",
    "religion": "religion konfession faith =church denomination bekenntnis geloof wyznanie relig*",
    "body": "height weight =ht =wt =wtkg groesse koerpergroesse gewicht koerpergewicht taille poids estatura peso "
    "altura altezza lengte wzrost waga hoyde vekt laengd vikt =kilo *wght",
    "health": "diagnosis diagnose diagnoses diagnostic diagnostico diagnosi diag dx pdx sdx drg icd icd10 hcpcs "
    "=cigs cigarettes cpt ndc disease =condition procedure krankheit rozpoznanie maladie enfermedad malattia ziekte "
    "doenca choroba "
    "sykdom sjukdom sygdom hastalik =injury =ill =sick hiv aids therapy therapie terapia =treatment medication "
    "medic* medikament drug drugs atc symptom allergy allergie disability disabled behinderung behandlung "
    "handicap blood blutgruppe schwanger gestant* bmi =cigs cigarette tobacco raucher fumeur fumador alcohol alkohol "
    "drink drinker heroin cocaine disorder cancer tumor tumour krebs contraceptive comorbidity comorb charlson lab "
    "laborwert =bp sbp dbp sysbp diasbp blutdruck cholesterol =chol hdl ldl triglyc =trig glucose glukose hba "
    "creatinine creatinin kreatinin =crea albumin bilirubin =bili platelet *globin =hb =hgb =hct wbc rbc crp =psa "
    "egfr =bun urea harnstoff sodium potassium ferritin insulin =pulse heartrate asthma diabet hypertens stroke "
    "infarct copd angina =chd =cvd =chf hepatitis infection depress anxiety psychiatr dementia metasta karnof "
    "=ecog apgar gestation bweight birthweight birthwt health *hlth depr* gesundheit sante salud saude salute "
    "gezondheid chemo* hormon* radiother* zdrowie helse haelsa surgery =operation =icu =los liegezeit verweildauer "
    "lengthofstay hospitalization "
    "hospitalized disab pain covid cd4 cd8 tani pregnan birthcontrol *smk* smok* *smok prescri chronic hosp* doctor "
    "arztbesuch oedema edema ascites rash lesion itch nausea fever cough dyspnea vomit fatigue fieber bloodpress "
    "*illness dgns discapacidad =bula =bulas bijsluiter beipackzettel bipacksedel indlaegsseddel posologi* farmaco* "
    "remedio geneesmiddel =lek =leki =ilac laegemiddel laekemedel foerderschwerp* foerderbedarf pflegegrad "
    "beperking niepelnosprawn* engelli funksjonsnedsettelse patologi* pathologi* aandoening schorzeni* zaburzeni* "
    "afeccion grossesse embarazo gravidanza gravidez zwangerschap =ciaza graviditet gebelik",
    "crime": "offence offens crime criminal conviction convict arrest arrested straftat vorstrafe delikt delit "
    "delito reato sentence verdict felon felony prison jail incarcer inmate =priors parole probation gefaengnis",
    "politics": "party political politics partei parti partito partido wahl vote voted voter voting intenciondevoto "
    "parteizugehoerigkeit ideology elections votacion",
    "hardship": "hardship violence gewalt violenza przemoc geweld addiction =sucht dipendenza "
    "verslaving uzaleznieni* homeless obdachlos* wohnungslos* dakloos bezdomn* abuse missbrauch maltrattament* "
    "neglect notlage schuldhulp* bijstand* sozialhilfegrund asylum asyl asilo refugee fluechtling refugie refugiado",
    "sexuality": "orientation sexuality sexualitaet",
    "biometrics": "fingerprint iris biometric biometrie dna genome genotype genetic fingerabdruck allele =apoe "
    "=hla snp",
    "union": "gewerkschaft tradeunion =union syndicat sindicato sindacato sindical* sindacal* vakbond sendika "
    "fagforening",
    "marital": "marital *married marriage maried =marr =marry =mar familienstand famst zivilstand civilstatus "
    "marstat =mstat marst matrimonial situationfamiliale estadocivil statocivile burgerlijkestaat stancywilny "
    "sivilstand civilstand medenidurum spouse divorced =divorce widowed cohab",
    "education": "education =phd school schooling degree nodegree =edu diploma diplome bildung abschluss "
    "schulabschluss ausbildung =formation escolaridad escolaridade scolarita istruzione titolodistudio opleiding "
    "onderwijs etudes estudios qualification weducation heducation wyksztalcenie utdanning utbildning uddannelse "
    "egitim ogrenim hsgrad dropout *educ educ* eduy* edul* =ed =major =faculty fakultaet studiengang",
    "occupation": "occupation =occ =occp *occup occup* job beruf profession workclass employer arbeitgeber =work "
    "working branche industry =ind =naics =sic =isco ocupacion ocupacao metier taetigkeit =position emploi "
    "travail empleo trabajo lavoro professione beroep zawod yrke erhverv meslek employed employment empstat unemp "
    "unemployed uemp* arbeitslos erwerb labforce =labor =labour retired rentner selfempl tenure =exper experience "
    "=rank dienstgrad workstat hoursperweek department abteilung =team clerical managerial =manager",
    "money": "salary income gehalt einkommen =eink netto brutto lohn earnings earn balance debt schulden credit "
    "kredit mortgage loan default schufa bonitaet revenu salaire ingreso ingresos reddito stipendio wealth "
    "insolvency poverty =poor welfare benefit assets networth miete sozialhilfe salario renda rendimento dochod "
    "zarobki inntekt inkomst indkomst inkomen gelir maas wynagrodzenie foodstamp *wage =inc "
    "hhinc* faminc* lfaminc othinc* totinc perinc appinc lninc loginc nwifeinc atotinc cototinc hinct* insur "
    "versicherung seguro",
    "household": "child* kinder =kid household haushalt dependents relationship enfants hijos figli "
    "kinderen filhos dzieci cocuk =fam =lfam fsize famsize "
    "hhsize familysize =parity =sibs siblings nsibs brthord birthorder "
    "*kids kids*",
    "death": "died death dead deceased decease mortality survived surviv survival alive vital vitalstatus verstorben "
    "gestorben exitus =tod deces decede muerte fallecido decesso deceduto obito morte overleden zgon dodsfall avliden "
    "oelum",
    "study": "readmit readmission readmitted relapse recurrence =recur outcome todesursache =censor censored =cens "
    "treat treated treatment trt randomized randomised placebo futime followup",
}  # fmt: skip
"""What the name of a column is about -> its words."""
WEIGHTS = "weight gewicht =wt poids peso vekt vikt waga wght* *wght *wgt wgt*"
"""Words of weights, of bodies or of surveys: their numbers tell."""
NEWBORN = ("birth", "baby", "newborn", "neonate", "neonatal", "fetal")
"""Words of a name that says whose weight it is, in grams or pounds: none of a survey."""
BIRTHS = ("gestation", "gestational", "premie", "preterm", "apgar", "birthweight", "lowbirthweight", "lbw")
"""Words of the names of columns in tables of births, whose weights are what was found."""
FLAGS: Mapping[str, str] = {
    "sex": "male males female females man men woman women masc fem mann frau weiblich maennlich homme femme "
    "hombre mujer uomo donna maschio femmina masculin feminin masculino feminino kvinna kvinde mand erkek kadin "
    "kobieta mezczyzna",
    "race": "afam blck whte mblck fblck mwhte fwhte "
    "black blacks white whites nonwhite nwhite hispan hispanic hisp indigena latino latina asian african "
    "afroamerican caucasian native foreign foreigner migrant immigrant minority indigenous aboriginal auslaender "
    "etranger extranjero",
    "religion": "catholic protestant muslim jewish christian hindu buddhist katholisch evangelisch",
    "marital": "single div divorced widow widowed separated cohabiting partner ledig verheiratet geschieden "
    "verwitwet marie celibataire casado soltero",
    "politics": "democrat republican",
    "residence": "urban rural south north east west northeast northcentral midwest southern northern smsa msa "
    "metro farm city nrtheast nrthcen northcen",
    "occupation": "selfemp selfempl selfemployed student pensioner",
    "health": "drugs smoke alcohol disabled hosp hospital",
}  # fmt: skip
"""Topic -> the names that a column of two or three codes has if it is called by a value of the topic."""
SUBJECTS = (
    "=type =typ =art kind =tipo tipologia soort rodzaj slag =tur categor* kategor* =class =classe klass* clase "
    "classification status =state =estado stato =stan statut tillstand =result results resultat* risultat* ergebnis "
    "resultado uitslag wynik outcome =esito score points punkte puntos punteggio grade =mark marks =note noten "
    "=nota =voto voti cijfer ocena betyg karakter reason =grund motiv* powod cause ursache causa complaint "
    "beschwerde symptom klacht activity aktivit* activit* actividad event evento duration dauer duree duracion "
    "durata duur czas wait wartezeit days =tage jours =dias =giorni dagen minutes =min hours stunden amount betrag "
    "montant importe importo bedrag kwota valor =total charge charges tarif* price preis =prix precio prezzo prijs "
    "=cena =value =wert valeur valore waarde =cost =costs kosten cout costo koszt churn default =left =quit "
    "returned response =arm treatment traitement behandlung contract vertrag contrat contrato contratto product "
    "produkt produit producto prodotto service =dienst purpose zweck finalid* finalit* tenure stage stade stadi* "
    "sever* disposition discharge entlass* readmi* rating satisf* zufrieden* schwere gravit* diagnos* topograph* "
    "tumor therap* subject sujet thema fraud betrug =loss =debt =claim schaden sinistre siniestro verbrauch consum* "
    "consom* verbruik zuzycie forbruk forbrug foerbruk* tuketim usage delay verspaetung retard* retraso ritardo "
    "vertraging opoznien* forsink* foersen* gecikme =fine strafe amende =multa boete =kara mandat genre genero gatunek "
    "gattung genere advice advies decision entscheid* decis* besluit decyzja beslut karar level niveau nivel livello "
    "poziom niva offense offence incident distance distanz distan* afstand quantity menge quantit* cantidad ilosc "
    "problem* attrition turnover accept* reject* approv* denied =deny admit* hired dropout exited subscribed takeup "
    "noshow =rate =rates =term label =item itemid itemname =test testname analyt* paramet* messwert measure* concept "
    "evolucao evolucion "
    "desfecho callback regeling vote* voted votes wage* *wage earns earning* =pay =gpa =exam injury =force "
    "satisfaction crash collision durat relapse* recurren* remission surviv* birthweight bwght =bwt absence* absent* "
    "attendance =treat =treated =trt randomi* =lfp =inlf =spell =sat =satv =satm =satq =act =gre =lsat =mcat toefl"
)
"""Words of what a record is about: of which kind it is, what was found or decided, how long it took, what it cost."""
STUDIED = (
    "status", "event", "y", "class", "target", "label", "response", "time", "duration", "days", "result",
    "group", "grp", "gruppe", "groupe", "grupo", "gruppo", "groep", "grupa", "arm", "allo", "alloc", "allocation",
    "rx", "tx", "stage", "grade", "stat", "durat", "futime", "survtime", "followup", "cens", "censored",
)  # fmt: skip
"""Names of what a study found, where columns beside them speak of health or of a study."""
SENSITIVE: Mapping[str, str] = {
    "religion": "religion", "health": "health", "money": "income or credit", "politics": "political opinions",
    "hardship": "hardship", "sexuality": "sexuality", "crime": "offences", "biometrics": "biometric or genetic data",
    "union": "membership in a trade union", "study": "what a study did or found",
}  # fmt: skip
"""Topics that others must not learn of a person, in words. Articles 9 and 10 of the GDPR name all but money and what
studies find."""
KNOWN: Mapping[str, str] = {
    "sex": "sex", "race": "race or ethnic origin", "marital": "marital status", "education": "education",
    "occupation": "work", "household": "family", "residence": "where a person lives", "body": "height or weight",
    "death": "whether somebody died",
}  # fmt: skip
"""Topics that others know or find out about a person, in words."""
CODED = (
    "schoolid schid hospid clinicid clusterid teacherid "
    "classid distid districtid regionid siteid centerid centreid wardid lea "
    "code codes cd cod kod concept typ type kat kategorie kategori categorie categoria klasse nr id key schluessel "
    "art kennziffer"
)
"""Parts of the names of columns whose numbers are codes, without an order."""
COUNTED = (
    "exper* erfahrung tenure senior* anciennete antiguedad dienstjahre hour* stunden heures horas uren timer week* "
    "wochen semaines semanas year* yrs jahre annees anni jaren"
)
"""The same of those whose numbers count years or hours, whatever they are about."""
ASKERS = "interviewer enqueteur entrevistador intervistatore"
"""Words of who asked the questions of a survey."""
CARERS = (
    "physician doctor arzt aerztin medico medecin surgeon behandler attending prescriber teacher lehrer physn npi "
    "huisarts hausarzt clinician enseignant profesor professor docente officer badge"
    f" {ASKERS}"
)
"""Words of providers who are persons."""
OTHER_PERSONS = "pacient tenant mieter locataire inquilino guardian tutor mother father owner applicant"
"""Words of persons beside those of carers, and of persons whom records are about."""
_ENDS = "([^a-z]|$)"
VOCABULARY: Mapping[str, tuple[float, str]] = {
    "sex": (0.6, r"(?i)^ *(male|female|man|woman|m|f|w|männlich|weiblich|mann|frau|homme|femme|masculin|féminin|hombre|"
            r"mujer|maschio|femmina|masculino|feminino|femenino|kobieta|mężczyzna|kvinna|kvinde|kvinne|vrouw|erkek|kadın)"
            r" *$"),
    "race": (0.6, r"(?i)^ *(white|black|asian|hispanic|latino|caucasian|african|native american|pacific islander|"
             r"multiracial|mixed)( |[/,-]|$)"),
    "marital": (0.6, r"(?i)^ *(never[ -]|un)?(married|single|divorced|widow|separated|ledig|verheiratet|geschieden|"
                r"verwitwet|célibataire|marié|divorcé|veuf|casad[oa]|solteir[oa]|solter[oa]|divorciad[oa]|viud[oa]|"
                r"sposat|coniugat|nubile|celibe|(on)?gehuwd|żonaty|panna|gift *$|ogift|evli|bekar)"),
    "religion": (0.5, r"(?i)^ *(roman )?(ca?tholi|kath?oli|katoli|catoli|protest|evang|luther|orthodox|muslim|moslem|"
                 r"islam|müslüman|hindu|buddh|jewish|jüd|juif|jud[ií]o|christ|atheis|konfessionslos)"),
    "politics": (0.5, r"(?i)^ *(cdu|csu|spd|fdp|afd|die linke|grüne|psoe|vox|podemos|democrat|republican|labour|tory|"
                 r"conservative|socialist|lib dem|lega|pvv|vvd|d66|venstre|høyre|chp|akp)( |[/,(-]|$)"),
    "health": (0.3, r"(?i)(diabet|asthma|cancer|carcinom|karzinom|krebs|infarct|infarkt|pneumon|hypertens|fractur|"
               r"fraktur|infection|infektion|syndrom|disease|krankheit|disorder|depress|schizo|epilep|dementia|demenz|"
               r"sepsis|stroke|schlaganfall|bronchi|metformin|insulin|ibuprofen|aspirin|paracetamol|([a-z]{3}itis|"
               rf"[a-z]{{3}}opathy|[a-z]{{4}}statin|[a-z]{{3}}cillin|[a-z]{{3}}mycin|[a-z]{{2}}prazole?|[a-z]{{2}}sartan){_ENDS})"),
    "hardship": (0.3, r"(?i)(violen[ctz]|gewalt|przemoc|geweld|våld|şiddet|addict|alco(h)?ol|alkohol|spielsucht|"
                 r"suchtkrank|drogen|dipendenz|toxicoman|verslav|uzależn|missbruk|homeless|obdachlos|wohnungslos|"
                 r"sans[- ]abri|dakloos|bezdomn|abuse|missbrauch|maltrat|maltraite|neglect|vernachläss|pregnan|"
                 r"schwanger|embaraz|gravidanz|grossesse|ciąż|disab|behinder|niepełnospr|discapac|handicap|poverty|armut|"
                 r"ubóst|pobreza|povertà|refugee|flüchtling|réfugié|refugiad|asylum)"),
}  # fmt: skip
"""Topic -> the share of the values that are its words where a column is about it, and the pattern of such values."""
