"""``sqlanon estimate``: what a run of a policy will take, from runs over two samples. Nothing is published.

Two samples of the records (of the persons, where the policy names an entity) are encoded, searched, written to a
private folder and audited. What grew between them is carried on: at least as the same power of the records, at most in
proportion to them. A search of more records may judge more nodes or fewer, which is carried on likewise, so of what is
said only the order of magnitude counts.
"""

from __future__ import annotations

import json
import math
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from sqlglot import exp

from sqlanon.commands.common import read_policy
from sqlanon.core.anonymizer import encoded_session, published_plan
from sqlanon.core.disk.folders import spill_folder
from sqlanon.core.policy import Output, Policy
from sqlanon.core.source.opening import Source
from sqlanon.core.sqltrees.trees import column, count_rows, number, table
from sqlanon.errors import InputError, NoSolutionError, SearchStoppedError, UnsupportedError

DRAWN = "sqlanon_drawn"
SHARE = 4
"""The larger sample has so many times the records of the smaller one."""
LEAST = 1_000
"""Records of the smaller sample, at least."""
BUCKETS = 1_000_000
"""Persons are drawn by the remainder of a hash."""
SEED = 1
TICK = 0.001
"""Seconds below which nothing is compared."""


@dataclass(frozen=True, slots=True)
class SampleRun:
    """The cost of a run over a sample.

    Attributes:
        distinct: rows of the base: the distinct combinations of what is encoded.
        seconds: by phase; those of drawing the sample are left out.
        peak: bytes of memory that the process had taken by its end, at most.
        limit: bytes of memory that the engine may take.
    """

    records: int
    distinct: int
    judged: int
    seconds: dict[str, float]
    peak: int
    limit: int


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a run over all records will take: of each figure the least and the most that the samples let expect.

    Attributes:
        distinct: distinct combinations of what is encoded.
        memory: bytes of the whole process, without a limit.
        temporary: what of them is beyond the engine's limit, and is written to temporary files.
    """

    records: int
    samples: tuple[SampleRun, SampleRun]
    distinct: tuple[int, int]
    seconds: dict[str, tuple[float, float]]
    memory: tuple[int, int]
    temporary: tuple[int, int]


def execute(policy: str, as_json: bool, records: int) -> int:
    """Carry the command out, with the options of ``usage``, and return the exit code."""
    estimated = estimate(read_policy(policy), records)
    if as_json:
        print(json.dumps(asdict(estimated)))
    else:
        print("\n".join(_lines(estimated)))
    return 0


def estimate(policy: Policy, most: int) -> Estimate:
    """Return the estimate of a run of a policy, by samples of at most so many records.

    Raises:
        UnsupportedError: of this policy or source a sample says nothing.
        InputError: there are too few records to draw from, or a sample has no release.
    """
    for key in ("ledger", "like", "periods", "sample"):
        if getattr(policy, key) is not None:
            raise UnsupportedError(
                f"A run with {key} depends on more than its records, so samples say nothing of it.",
                hint=f"leave {key} out of a copy of the policy, and estimate that.",
            )
    policy = replace(policy, output=None, report=None, certificate=None)
    counted: list[int] = []
    few, more = _run(policy, most // SHARE, counted), _run(policy, most, counted)
    if not 0 < few.records < more.records:
        raise InputError(
            "The two samples do not differ: few persons have all records.",
            hint="run it with --dry-run, which takes as long as it says.",
        )
    return carried_on(counted[0], few, more)


def _run(policy: Policy, wanted: int, counted: list[int]) -> SampleRun:
    """Run a policy over a sample of about so many records; ``counted`` receives the records of the source."""
    drawing, limit = 0.0, 0

    def draw(opened: Source) -> Source:
        nonlocal drawing, limit
        started, engine = time.perf_counter(), opened.engine
        if engine.capabilities.name != "DuckDB":
            raise UnsupportedError(
                f"Samples are drawn of files and of DuckDB's tables, not on {engine.capabilities.name}.",
                hint="export some of the records to Parquet, and estimate a run over these.",
            )
        if not counted:
            [[records]] = engine.run("records", exp.select(count_rows()).from_(opened.relation.copy()))
            counted.append(int(records))
        if counted[0] < max(2 * SHARE * LEAST, 2 * wanted):
            raise InputError(
                f"The source has {counted[0]:,} records, too few to draw samples of.",
                hint="run it with --dry-run, which takes as long as it says; or give --records a smaller number.",
            )
        engine.create("draw", DRAWN, _drawn(opened, policy.entity, wanted / counted[0]))
        [[setting]] = engine.run("memory limit", exp.select(exp.func("CURRENT_SETTING", exp.convert("memory_limit"))))
        limit = _bytes(setting)
        drawing = time.perf_counter() - started
        return replace(opened, relation=table(DRAWN))

    folder = spill_folder(Path(tempfile.gettempdir()))
    try:
        with encoded_session(None, policy, None, draw=draw) as (session, _), published_plan(session) as plan:
            release = plan.publish(Output("file", str(folder.path / "sample.parquet")))
            seconds = {**release.seconds, "encode": max(release.seconds["encode"] - drawing, 0.0)}
            distinct, judged = plan.catalog.base_rows, plan.certificate.evaluated
            return SampleRun(release.ledger.records, distinct, judged, seconds, _peak(), limit)
    except (NoSolutionError, SearchStoppedError) as error:
        raise InputError(
            f"A sample of some {wanted:,} records has no release. {error.message}",
            hint="give --records a larger number: in few records fewer nodes meet the policy.",
        ) from None
    finally:
        folder.remove()


def _drawn(opened: Source, entity: str | None, share: float) -> exp.Select:
    """Return the query of a sample: of records by a seed, of persons by a hash."""
    query = exp.select("*").from_(opened.relation.copy())
    if entity is not None:
        bucket = exp.Mod(this=exp.func("HASH", column(entity)), expression=number(BUCKETS))
        return query.where(exp.LT(this=bucket, expression=number(math.ceil(share * BUCKETS))))
    drawn = exp.TableSample(method=exp.var("bernoulli"), percent=exp.convert(100 * share), seed=number(SEED))
    query.args["from_"].this.set("sample", drawn)
    return query


def carried_on(records: int, few: SampleRun, more: SampleRun) -> Estimate:
    """Return the cost of all records, from runs over few and over more of them."""
    times, between = records / more.records, math.log(more.records / few.records)
    carried = math.log(times) / between
    power = min(math.log(more.distinct / few.distinct) / between, 1.0)
    distinct = (int(more.distinct * times**power), int(more.distinct * times))
    seconds = {}
    for phase, last in more.seconds.items():
        of_search = phase == "search"
        nodes = (more.judged / few.judged) ** carried if of_search else 1.0
        rise = math.log(max(last, TICK) / max(few.seconds[phase], TICK)) / between
        least = last * times ** min(max(rise, 0.0), power if of_search else 1.0)
        seconds[phase] = (least * min(nodes, 1.0), last * times * max(nodes, 1.0))
    seconds["whole"] = (sum(low for low, _ in seconds.values()), sum(high for _, high in seconds.values()))
    a_record = max(more.peak - few.peak, 0) / (more.records - few.records)
    memory = (more.peak, int(more.peak + a_record * (records - more.records)))
    beyond = (max(memory[0] - more.limit, 0), max(memory[1] - more.limit, 0))
    return Estimate(records, (few, more), distinct, seconds, memory, beyond)


def _peak() -> int:
    """Return the bytes of memory that this process has taken, at most; 0 where the system does not say."""
    try:
        import resource
    except ImportError:  # of Unix alone
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak


def _bytes(text: str) -> int:
    """Return the number of bytes that a setting of DuckDB says.

    >>> _bytes("1.5 GiB")
    1610612736
    """
    amount, _, unit = text.partition(" ")
    return int(float(amount) * 1024 ** (("bytes", "KiB", "MiB", "GiB", "TiB").index(unit)))


def _lines(estimated: Estimate) -> list[str]:
    """Return the lines for a person."""
    few, more = estimated.samples
    lines = [
        f"{estimated.records:,} records, estimated from samples of {few.records:,} and {more.records:,}",
        f"  distinct combinations: {_span(estimated.distinct, '{:,}')} ({few.distinct:,} and {more.distinct:,})",
    ]
    for phase, span in estimated.seconds.items():
        taken = "" if phase == "whole" else f" ({few.seconds[phase]:.2f} and {more.seconds[phase]:.2f})"
        lines.append(f"  {phase}: {_span(span, '{:,.1f}')} s{taken}")
    memory, beyond = ([amount // 2**20 for amount in pair] for pair in (estimated.memory, estimated.temporary))
    lines.append(f"  memory: {_span(memory, '{:,}')} MiB ({few.peak // 2**20:,} and {more.peak // 2**20:,})")
    lines.append(f"  temporary files: {_span(beyond, '{:,}')} MiB beyond the limit of {more.limit // 2**20:,} MiB")
    lines.append(f"The samples judged {few.judged:,} and {more.judged:,} nodes; all records may take more or fewer.")
    return lines


def _span(pair: Sequence[float], form: str) -> str:
    """Return two figures in words, or one where both are the same."""
    low, high = (form.format(figure) for figure in pair)
    return low if low == high else f"{low} to {high}"
