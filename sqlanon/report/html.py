"""The report as one HTML page that needs nothing else: no script, no font, no image, no link to anywhere."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from sqlanon.audit.null_bias import ColumnBias, NullBias
from sqlanon.audit.nulls import REMARK, NullAudit
from sqlanon.publish.ledger import Ledger
from sqlanon.report.charts import bar, histogram, loss_scale, stacked
from sqlanon.report.summary import RecodingSummary, RunSummary, SearchSummary
from sqlanon.report.wording import (
    BIAS_REMARK,
    ENTITIES,
    FOR_THE_OPERATOR,
    LOSS_OF_ATTRIBUTE,
    MATCHES,
    NO_PARTS,
    NOT_PUBLISHED,
    REASONS,
    ROLES,
    RULE,
    RULES,
    RULES_MEANING,
    count,
    counted,
    duration,
    figure,
    judged,
    null_rows,
    share,
    shares_told,
    size_range,
    visible,
)

TEMPLATE = "report.html.j2"
STYLE = "report.css"
PHASES = 4
"""Colours of the phases of a run; further ones begin anew."""


def html_report(summary: RunSummary) -> str:
    """The page of a run. Its policy for content allows the one style sheet in it and nothing else."""
    style = files("sqlanon.report").joinpath(STYLE).read_text(encoding="utf-8")
    ledger = summary.ledger
    kind = summary.recoding.kind if summary.recoding is not None else None
    template = _environment().get_template(TEMPLATE)
    return template.render(
        run=summary,
        notice=FOR_THE_OPERATOR,
        title=f"sqlanon: report of {visible(summary.table or summary.source or 'an open connection')}",
        style=Markup(style),
        style_hash=base64.b64encode(hashlib.sha256(style.encode()).digest()).decode(),
        figures=_figures(summary),
        ledger=_ledger(ledger, kind) if ledger is not None else None,
        sizes=_sizes(summary),
        entity_words=ENTITIES,
        losses=_losses(summary),
        no_parts=NO_PARTS,
        rules=_rules(summary.recoding),
        alone=any(m.suppressed is not None for m in summary.models),
        attribute_hierarchies=[(a.name, a.hierarchy) for a in summary.attributes],
        search=_search(summary.search, kind),
        nulls=_nulls(summary.nulls),
        bias=_bias(summary.bias),
        seconds=_seconds(summary.seconds),
        settings=[(s.name, s.value) for s in summary.settings],
        columns=[(c.name, ROLES.get(c.role, c.role)) for c in summary.columns],
        origin=_origin(summary),
        bar=bar,
        size_range=size_range,
    )


def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader("sqlanon", "report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(count=count, counted=counted, figure=figure, name=_name, names=_names)
    return made


def _name(text: str) -> Markup:
    """A text that names of the user's stand in: kept apart from the direction of the text around it, and with places
    where a long name may be broken."""
    parts = re.split(r"(?<=[_.])", visible(text))
    return Markup("<bdi>{}</bdi>").format(Markup("<wbr>").join(parts))


def _names(text: str) -> Markup:
    """A list of names, which breaks between them where that is possible."""
    return Markup("<bdi>{}</bdi>").format(visible(text))


def _figures(summary: RunSummary) -> list[dict[str, str]]:
    """What most readers look for first."""
    ledger, certificate, search = summary.ledger, summary.certificate, summary.search
    if ledger is None or certificate is None or search is None:
        return []
    part = share(ledger.published / ledger.records) if ledger.records else "none"
    smallest = "" if ledger.smallest_class is None else f"the smallest holds {counted(ledger.smallest_class, 'record')}"
    if ledger.entities is not None and ledger.entities.smallest_class is not None:
        smallest = f"at least {counted(ledger.entities.smallest_class, 'entity')} in each"
    asked = "" if summary.k is None else f", k\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}{summary.k}"
    folded = certificate.measure.replace("_", " ")
    folded += f", {certificate.aggregate.replace('_', ' ')}" if certificate.aggregate else ""
    proof = "proven optimal" if certificate.optimal else "not proven optimal"
    kind = summary.recoding.kind if summary.recoding is not None else None
    what, number, _ = judged(kind, search.evaluated, search.lattice_size)
    return [
        {"name": "Published", "value": part, "told": f"{count(ledger.published)} of {count(ledger.records)} records"},
        {"name": "Loss", "value": figure(certificate.loss), "told": f"{folded}; {proof}"},
        {"name": "Classes", "value": count(ledger.classes), "told": smallest + asked},
        {"name": "Time", "value": duration(sum(value for _, value in summary.seconds)), "told": f"{number} {what}"},
    ]


def _parts(items: Sequence[tuple[str, str, float, str]]) -> list[dict[str, Any]]:
    """The parts of a stacked bar, from (kind, name, value, what is told of it)."""
    segments = stacked([value for _, _, value, _ in items])
    return [
        {"kind": kind, "name": name, "value": value, "told": told, "segment": segment}
        for (kind, name, value, told), segment in zip(items, segments, strict=True)
    ]


def _ledger(ledger: Ledger, kind: str | None) -> dict[str, Any]:
    reasons = REASONS | NOT_PUBLISHED.get(kind or "", {})
    items = [("published", "published", ledger.published)]
    items += [(reason, reasons[reason], number) for reason, number in ledger.reasons.items() if number]
    parts = _parts([(kind, name, number, counted(number, "record")) for kind, name, number in items])
    for part in parts:
        part["share"] = share(part["value"] / ledger.records) if ledger.records else ""
    told = "; ".join(f"{part['name']}: {part['told']}, {part['share']}" for part in parts)
    return {"parts": parts, "description": told}


def _sizes(summary: RunSummary) -> dict[str, Any] | None:
    ledger, buckets = summary.ledger, summary.sizes
    if ledger is None or not buckets:
        return None
    told = f"{counted(ledger.classes, 'class')} published"
    if ledger.smallest_class is not None and ledger.largest_class is not None:
        told += f"; the smallest holds {counted(ledger.smallest_class, 'record')}, the largest "
        told += f"{counted(ledger.largest_class, 'record')}"
    apart = summary.recoding is None or any(b.suppressed_records for b in buckets)
    described = [
        f"{size_range(b.least, b.most)}: {count(b.records)} published"
        + (f", {count(b.suppressed_records)} suppressed" if apart else "")
        for b in buckets
    ]
    return {
        "told": told + ".",
        "apart": apart,
        "suppressed": any(b.suppressed_records for b in buckets),
        "chart": histogram(buckets, summary.k),
        "description": "Records in classes of so many records. " + "; ".join(described),
    }


def _losses(summary: RunSummary) -> dict[str, Any] | None:
    losses = [a.loss for a in summary.attributes if a.loss is not None]
    if not losses or summary.certificate is None:
        return None
    scale = loss_scale(summary.measure, losses)
    folded = (summary.aggregate or "").replace("_", " ")
    return {
        "scale": scale,
        "told": f"Together ({folded}): {figure(summary.certificate.loss)}. A full bar is {figure(scale)}.",
        "meaning": LOSS_OF_ATTRIBUTE.get(summary.measure, ""),
    }


def _rules(recoding: RecodingSummary | None) -> dict[str, Any] | None:
    if recoding is None:
        return None
    whole, most = recoding.records, max((rule.records for rule in recoding.rules), default=0)
    return {
        "title": RULES[recoding.kind],
        "noun": RULE[recoding.kind].capitalize(),
        "meaning": RULES_MEANING[recoding.kind],
        "told": shares_told(most, whole),
        "rows": [(rule, share(rule.records / whole), bar(rule.records, most)) for rule in recoding.listed],
    }


def _search(search: SearchSummary | None, kind: str | None) -> list[tuple[str, str]]:
    if search is None:
        return []
    what, number, part = judged(kind, search.evaluated, search.lattice_size)
    return [
        ("strategy", search.strategy),
        (what, f"{number} ({part})" if part else number),
        *((f"… from {name}", count(number)) for name, number in search.sources),
        ("statements", count(search.statements)),
        ("snapshots made", count(search.snapshots)),
        *((f"{search.strategy}: {name}", figure(number)) for name, number in search.statistics),
    ]


def _nulls(audit: NullAudit | None) -> dict[str, Any] | None:
    if audit is None:
        return None
    return {
        "share": share(audit.records_with_null / audit.records),
        "matches": MATCHES,
        "rows": null_rows(audit),
        "remark": REMARK,
        "scale": max(audit.nulls.values(), default=0),
    }


def _bias(bias: NullBias | None) -> dict[str, Any] | None:
    if bias is None:
        return None
    shifts = [c.shift_without_null for c in bias.columns if c.shift_without_null is not None]
    pairs = [(s.total_variation or 0.0, s.total_variation_by_chance or 0.0) for s in shifts]
    scale = max((max(pair) for pair in pairs), default=0.0)
    return {
        "share": share(bias.share_excluded),
        "remark": BIAS_REMARK,
        "rows": [_bias_row(c, scale) for c in bias.columns],
    }


def _bias_row(column: ColumnBias, scale: float) -> dict[str, Any]:
    shift = column.shift_without_null
    figures = (shift.total_variation, shift.total_variation_by_chance, shift.p_value) if shift else (None, None, None)
    distance, chance, p = ("–" if number is None else figure(number) for number in figures)
    return {
        "name": column.column,
        "distance": distance,
        "chance": chance,
        "p": p,
        "bar": bar(figures[0] or 0.0, scale),
        "mark": bar(figures[1], scale) if figures[1] is not None else None,
        "lost": f"{count(column.values - column.kept_values)} of {count(column.values)}" if shift else "–",
    }


def _seconds(seconds: Sequence[tuple[str, float]]) -> dict[str, Any] | None:
    if not seconds:
        return None
    items = [(f"phase-{i % PHASES}", name, value, duration(value)) for i, (name, value) in enumerate(seconds)]
    return {"parts": _parts(items), "description": "; ".join(f"{name}: {duration(v)}" for name, v in seconds)}


def _origin(summary: RunSummary) -> list[tuple[str, str]]:
    return [
        ("source", summary.source or "an open connection"),
        *([("table", summary.table)] if summary.table else []),
        *((f"written: {kind}", name) for kind, name in summary.output),
        ("policy, SHA-256", summary.fingerprint),
        *summary.versions,
    ]
