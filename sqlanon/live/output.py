"""The output ``live_view``, as the core asks for it (``core.publish.outputs.OtherOutput``)."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from sqlanon.core.audit.release import ReleaseClaim
from sqlanon.core.plan.full_domain import Plan
from sqlanon.core.policy import Output, Policy
from sqlanon.core.publish.publication import Publication
from sqlanon.core.publish.replaced import Replacing
from sqlanon.core.publish.targets import Target, check_target
from sqlanon.core.publish.written_rows import typed_texts
from sqlanon.core.source.opening import Source
from sqlanon.live.compiler.live import live_view
from sqlanon.live.epochs import epoch_view
from sqlanon.live.facts import facts_of
from sqlanon.live.lookups import freeze
from sqlanon.live.view import LiveDraft, check_live, frozen_view, heights_of, publish_live, refuse_policy

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
        engine, output, source, released = plan.engine, target.output, plan.source, plan.released
        where = check_live(source, plan.policy, output)
        check_target(engine, target)
        lookups = {name: typed_texts(texts, released[name]) for name, texts in claim.lookups.items()}
        heights = heights_of(plan.catalog)
        draft = LiveDraft(
            view=frozen_view(plan.policy, source, where, plan.node, released, heights),
            frozen=frozen_lookups(plan),
            facts=facts_of(engine, plan.policy, plan.levels, heights),
            claim=replace(claim, lookups=lookups),
            verify_source=source.verify,
            output=output,
            replacing=replacing,
        )
        return Publication({output.kind: output.target}, None, warnings=publish_live(engine, where, draft))

    def warning(self, output: Output) -> str:
        """Return what whoever reads the view more than once can see."""
        return WARNING if output.epoch is None else EPOCH_WARNING


OUTPUT = LiveViewOutput()


def live_view_sql(plan: Plan, output: Output) -> str:
    """Return the SELECT of the live view that ``output`` names; publish nothing.

    With an epoch, that of its first state: the view itself reads what is stored of it.

    Raises:
        UnsupportedError, TargetError: see ``check_live``.
    """
    where = check_live(plan.source, plan.policy, output)
    view = frozen_view(plan.policy, plan.source, where, plan.node, plan.released, heights_of(plan.catalog))
    epoch = epoch_view(view, where, output)
    return plan.engine.render(live_view(view) if epoch is None else epoch.first(), pretty=True)


def frozen_lookups(plan: Plan) -> dict[str, exp.Expr]:
    """Create the lookups of the chosen node as tables of ours, and return them by column (``freeze``)."""
    return freeze(plan.engine, plan.policy, plan.session.encoding, plan.node, plan.released)
