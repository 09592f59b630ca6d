"""The output ``live_view``, as the core asks for it (``core.publish.outputs.OtherOutput``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from sqlglot import exp

from sqlanon.core.audit.release import ReleaseClaim
from sqlanon.core.lattice.nodes import Node
from sqlanon.core.plan.full_domain import Plan
from sqlanon.core.policy import Output, Policy
from sqlanon.core.publish.publication import Publication
from sqlanon.core.publish.replaced import Replacing
from sqlanon.core.publish.targets import Target, check_target
from sqlanon.core.publish.written_rows import typed_texts
from sqlanon.core.source.opening import Source
from sqlanon.live.compiler.live import live_view
from sqlanon.live.deciding import choose_chain, problem_of_sizes
from sqlanon.live.epochs import epoch_view
from sqlanon.live.facts import facts_of, question_of
from sqlanon.live.lookups import Made, freeze
from sqlanon.live.view import LiveDraft, check_live, frozen_view, heights_of, publish_live, refuse_policy, source_place

WARNING = (
    "A live view shows the present state of its source. Anyone who reads it twice sees what changed between: a record "
    "that came or went alone is singled out by the difference, whatever k is. Where that matters, publish snapshots "
    "instead (docs/live-views.md)."
)
EPOCH_WARNING = (
    "A live view with an epoch shows records as they were when it began, and a few of them for longer. It does not "
    "change by itself: let a job run `sqlanon refresh POLICY` once an epoch (docs/live-views.md)."
)


class LiveViewOutput:
    """Views that follow their source."""

    def refuse(self, policy: Policy) -> None:
        """Refuse what no live view supports: see ``refuse_policy``."""
        refuse_policy(policy)

    def check(self, opened: Source, policy: Policy, output: Output) -> None:
        """Refuse what this source and place cannot have: see ``check_live``."""
        check_live(opened, policy, output)

    def publish(self, plan: Plan, target: Target, claim: ReleaseClaim, replacing: Replacing | None) -> Publication:
        """Put a live view in place, audited as it will be read: see ``publish_live``."""
        engine, output, source = plan.engine, target.output, plan.source
        chain = chain_of(plan, output)
        released = released_at(plan, chain)
        where = check_live(source, plan.policy, output)
        check_target(engine, target)
        lookups = {name: typed_texts(texts, released[name]) for name, texts in claim.lookups.items()}
        heights = heights_of(plan.catalog)
        question = [] if output.epoch is None else question_of(plan.policy, source_place(source))
        draft = LiveDraft(
            view=frozen_view(plan.policy, source, where, plan.node, released, heights),
            frozen=frozen_at(plan, chain, released),
            facts=[*facts_of(engine, plan.policy, plan.levels, heights), *question],
            claim=replace(claim, types=released, lookups=lookups),
            verify_source=source.verify,
            output=output,
            replacing=replacing,
        )
        return Publication({output.kind: output.target}, None, warnings=publish_live(engine, where, draft))

    def warning(self, output: Output) -> str:
        """Return the warnings of changes that readers see who read the view more than once."""
        return WARNING if output.epoch is None else EPOCH_WARNING


OUTPUT = LiveViewOutput()


def live_view_sql(plan: Plan, output: Output) -> str:
    """Return the SELECT of the live view that ``output`` names; publish nothing.

    With an epoch, that of its first state: the view itself reads what is stored of it.

    Raises:
        UnsupportedError, TargetError: see ``check_live``.
    """
    where = check_live(plan.source, plan.policy, output)
    released = released_at(plan, chain_of(plan, output))
    view = frozen_view(plan.policy, plan.source, where, plan.node, released, heights_of(plan.catalog))
    epoch = epoch_view(view, where, output)
    return plan.engine.render(live_view(view) if epoch is None else epoch.first(), pretty=True)


def chain_of(plan: Plan, output: Output) -> tuple[Node, ...]:
    """Return the nodes at which a view is to show records: that of the plan, and those where newcomers of rare classes
    come together."""
    if output.coarser_after is None:
        return (plan.node,)
    return choose_chain(plan.session, problem_of_sizes(plan.session), plan.node)


def released_at(plan: Plan, chain: Sequence[Node]) -> dict[str, str]:
    """Return the columns of a view that shows records at some nodes, with their types: texts where one has texts."""
    texts = {
        attribute.name
        for node in chain
        for attribute, level in zip(plan.catalog.attributes, node, strict=True)
        if not attribute.keeps_type[level]
    }
    return {name: "VARCHAR" if name in texts else kind for name, kind in plan.released.items()}


def frozen_at(plan: Plan, chain: Sequence[Node], released: Mapping[str, str]) -> list[dict[str, exp.Expr]]:
    """Create the lookups of some nodes as tables of ours, and return those of each by column (``freeze``)."""
    made: Made = {}
    encoding = plan.session.encoding
    return [freeze(plan.engine, plan.policy, encoding, node, released, made) for node in chain]
