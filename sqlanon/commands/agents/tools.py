"""The tools of an agent: they read, measure and search, and write nothing. What they return has passed the sieve."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from sqlanon.assess.frontier.verb import with_point
from sqlanon.assess.profiling.profile import profile
from sqlanon.assess.relations.verbs import check, risk
from sqlanon.commands.agents.answers import check_answer, plan_answer, profile_answer, risk_answer
from sqlanon.commands.agents.places import POLICIES, TEXTS, Places
from sqlanon.commands.agents.released_counts import RELEASES, counts_answer, is_counts
from sqlanon.commands.agents.sieve import Sieve, shown, without_values
from sqlanon.commands.check import model_named
from sqlanon.commands.explain import planned_at
from sqlanon.core.anonymizer import encoded_session, plan, recode
from sqlanon.core.plan.planned import Planned
from sqlanon.core.policy import Model, Policy
from sqlanon.core.policy.paths import TEXT_ENDINGS, flat_ending, is_folder, is_url
from sqlanon.errors import InputError, SqlanonError, UnsupportedError


@dataclass(frozen=True, slots=True)
class Tools:
    """What an agent may ask of the files of one folder. Each docstring is what the agent reads of a tool.

    Attributes:
        entity: the column of persons. Every answer counts the persons of this column, and what cannot is refused.
        elsewhere: a policy may read what does not lie in the folder.
        tables: cells of released tables of counts are told.
    """

    places: Places
    sieve: Sieve
    sources: tuple[str, ...]
    entity: str | None = None
    elsewhere: bool = False
    tables: bool = False

    def list_files(self) -> dict[str, Any]:
        """List the policies and the sources that the other tools can be asked about, and what the operator set: k, and
        the column of persons (entity) if there is one.
        """
        files = {"policies": self.places.listed(POLICIES), "sources": self.places.listed(self.sources)}
        if self.tables:
            named = self.places.listed(RELEASES)
            files["counts"] = [name for name in named if is_counts(self.places, self.places.path(name, RELEASES))]
        return {**files, "k": self.sieve.k, **({} if self.entity is None else {"entity": self.entity})}

    def counts(self, release: str, where: dict[str, str] | None = None) -> dict[str, Any]:
        """Tell cells of a released table of counts, exactly as it shows them; a suppressed cell stays suppressed.

        Every question is answered from the same released file; the records are not asked again.

        Args:
            release: one of the counts of list_files.
            where: the category of some dimensions, as {"sex": "f", "region": "Total"}; 200 cells are told at most.
        """
        path = self.places.path(release, RELEASES)
        with self.places.opened([path]):
            return counts_answer(self.places, path, where or {}, self.sieve, self.entity)

    def profile(self, source: str, table: str | None = None) -> dict[str, Any]:
        """Say what the columns of a source look like, which of them single people out, and which role each may have.

        Counts are rounded, and small ones withheld; no value is shown.

        Args:
            source: one of the sources of list_files.
            table: a relation of a database; it may be left out where there is only one.
        """
        if self.entity is not None:
            raise UnsupportedError(
                "A profile counts records, and the operator lets only persons be counted.", hint="ask risk or check."
            )
        path = self.places.path(source, self.sources)
        with self.places.opened([path]):
            return profile_answer(profile(str(path), table), self.sieve)

    def risk(
        self,
        source: str,
        quasi_identifiers: list[str],
        table: str | None = None,
        k: int | None = None,
        entity: str | None = None,
    ) -> dict[str, Any]:
        """Measure how many records of a source, or of a release, an attacker singles out who knows some columns.

        Args:
            source: one of the sources of list_files.
            quasi_identifiers: the columns that the attacker knows.
            table: a relation of a database; it may be left out where there is only one.
            k: classes of fewer records count as small; a multiple of the k of list_files.
            entity: the column that says whose a record is, where a person may have several: persons are counted then.
        """
        path, least = self.places.path(source, self.sources), self._least(k)
        with self.places.opened([path]):
            measured = risk(str(path), quasi_identifiers, k=least, table=table, entity=self._counted(entity))
        return risk_answer(measured, self.sieve)

    def check(
        self,
        source: str,
        quasi_identifiers: list[str],
        k: int | None = None,
        table: str | None = None,
        sensitive: list[str] | None = None,
        entity: str | None = None,
    ) -> dict[str, Any]:
        """Test whether a release, as it stands, is k-anonymous, and whether its classes hold several sensitive values.

        Args:
            source: one of the sources of list_files.
            quasi_identifiers: the columns that an attacker knows.
            k: the least size of a class; a multiple of the k of list_files.
            table: a relation of a database; it may be left out where there is only one.
            sensitive: as ["diagnosis:distinct_l_diversity:l=2"]; l is 2, or a multiple of the k of list_files.
            entity: the column that says whose a record is, where a person may have several: persons are counted then.
        """
        path, least, models = self.places.path(source, self.sources), self._least(k), self._diversities(sensitive or [])
        counted = self._counted(entity)
        with self.places.opened([path]):
            result = check(str(path), quasi_identifiers, k=least, sensitive=models, table=table, entity=counted)
        return check_answer(result, self.sieve)

    def plan(self, policy: str, k: int | None = None, suppression_limit: float | None = None) -> dict[str, Any]:
        """Search for the best solution of a policy and say what it would publish; nothing is written (a dry run).

        Args:
            policy: one of the policies of list_files.
            k: in place of the k of its k-anonymity; a multiple of the k of list_files.
            suppression_limit: the share of records that may be suppressed, in place of the policy's; their number is
                rounded down to a multiple of the k of list_files.
        """
        loaded = self._policy(policy, k)
        with _concealed(loaded), self._reading(loaded):
            if suppression_limit is not None:
                loaded = self._limited(loaded, suppression_limit)
            return self._planned(loaded)

    def _planned(self, policy: Policy) -> dict[str, Any]:
        with (plan if policy.transformation is None else recode)(None, policy) as planned:
            assert isinstance(planned, Planned)
            return plan_answer(planned, self.sieve)

    def explain(self, policy: str, k: int | None = None) -> dict[str, Any]:
        """Show the SQL by which the solution of a policy is judged. Texts in it read '…', and numbers `?`.

        Args:
            policy: one of the policies of list_files.
            k: in place of the k of its k-anonymity; a multiple of the k of list_files.
        """
        loaded = self._policy(policy, k)
        if loaded.transformation is not None:
            raise UnsupportedError("The SQL of a transformation is for the operator.", hint="ask plan about it.")
        with _concealed(loaded), self._reading(loaded), planned_at(loaded, None) as found:
            levels = found.catalog.levels(found.node)
            return {
                "levels": {shown(name): level for name, level in levels.items()},
                "classes": loaded.conceal(without_values(found.node_sql(levels))),
                "verdict": loaded.conceal(without_values(found.verdict_sql(levels))),
            }

    def _policy(self, name: str, k: int | None) -> Policy:
        """Return a listed policy that writes nothing, with another k if one is asked for.

        Raises:
            UnsupportedError: its own k would tell classes below the operator's apart.
        """
        path = self.places.path(name, POLICIES)
        if not self.elsewhere and not self.places.holds_all_of(path):
            raise _outside()
        found = Policy.from_file(path)
        if found.ledger is not None or found.like is not None or found.periods is not None:
            raise UnsupportedError(
                "A policy with a ledger, like or periods follows earlier releases, which the operator alone reads.",
                hint="the operator's sqlanon run --dry-run does that.",
            )
        if self.entity is not None and (found.entity or "").casefold() != self.entity.casefold():
            raise UnsupportedError(
                "The policy does not count the persons that the operator lets be counted.",
                hint="give it the entity that the operator names.",
            )
        asked = [model.parameters.get("k", 0) for model in found.privacy if model.type == "k_anonymity"]
        if k is not None:
            if not asked:
                raise InputError("The policy asks for no k-anonymity.", hint="leave k out.")
            found = replace(found, privacy=with_point(found, self._least(k), Decimal(0)).privacy)
        elif any(least < self.sieve.k for least in asked):
            raise UnsupportedError(
                "The policy asks for a smaller k than the operator lets be asked about.",
                hint="ask with a k, a multiple of that of list_files.",
            )
        return replace(found, output=None, report=None, certificate=None)

    @contextmanager
    def _reading(self, policy: Policy) -> Iterator[None]:
        """Let a policy read what it names in the folder, and nothing else, unless the operator allows that.

        Raises:
            UnsupportedError: it names something else.
        """
        named = [name for name in (policy.source, *policy.files, *(join.source for join in policy.join)) if name]
        texts = [flat_ending(name) in TEXT_ENDINGS for name in (*named, *map(str, policy.patterns.files()))]
        if any(texts) and not set(TEXTS) <= set(self.sources):
            raise UnsupportedError(
                "The first line of a CSV file may be a record, and the policy reads one.",
                hint="the operator declares with --headers that these lines are names.",
            )
        if self.elsewhere:
            yield
            return
        files = list(policy.read_files)
        for folder in [file for file in files if is_folder(file)]:
            files += [file for file in folder.rglob("*") if file.is_file()]
        outside = not all(map(self.places.holds, files)) or any(map(is_url, named))
        if outside or policy.engine.name == "spark" or policy.engine.temp_directory is not None:
            raise _outside()
        with self.places.opened(files):
            yield

    def _counted(self, entity: str | None) -> str | None:
        """Return the column whose persons are counted: the operator's, or else the agent's.

        Raises:
            InputError: the agent names another one than the operator.
        """
        if self.entity is not None and entity is not None and entity.casefold() != self.entity.casefold():
            raise InputError("The operator names another column of persons.", hint="leave entity out.")
        return entity if self.entity is None else self.entity

    def _limited(self, policy: Policy, limit: float) -> Policy:
        """Return the policy with another limit, a multiple of k: limits that differ by less would reveal,
        one after the other, how many records stand in small classes."""
        if not 0 <= limit <= 1:
            raise InputError("A limit is a share of the records.", hint="ask for one from 0 to 1.")
        with encoded_session(None, policy, None) as (session, _), closing(session):
            allowed = int(Decimal(str(limit)) * self.sieve.rounded_down(session.encoding.catalog.counted))
        return replace(policy, suppression_limit=Decimal(0), suppression_count=self.sieve.rounded_down(allowed))

    def _diversities(self, sensitive: list[str]) -> dict[str, list[Model]]:
        """Return the models of sensitive columns; only whether classes hold two values, or how many in steps of k.

        Thresholds as fine as the agent likes would reveal, one after the other, how often a value stands in a
        class: c of recursive l-diversity does, and l where few records have a value at all.

        Raises:
            UnsupportedError: it is another one.
        """
        models: dict[str, list[Model]] = {}
        for text in sensitive:
            column, model = model_named(text)
            least = model.parameters.get("l", 0)
            if (model.type, set(model.parameters)) != ("distinct_l_diversity", {"l"}) or (
                least != 2 and least % self.sieve.k
            ):
                raise UnsupportedError(
                    "The operator lets only distinct l-diversity be asked about, in steps of the k of list_files.",
                    hint="ask whether distinct_l_diversity holds with an l of two, or of a multiple of that k.",
                )
            models.setdefault(str(column), []).append(model)
        return models

    def _least(self, k: int | None) -> int:
        """Return k, a multiple of that of the sieve: one k after the other would count each class exactly, and what two
        of them differ by.

        Raises:
            InputError: it is none.
        """
        if k is None:
            return self.sieve.k
        if k < self.sieve.k or k % self.sieve.k:
            raise InputError(
                "The operator lets only some k be asked about.", hint="ask for a multiple of list_files' k."
            )
        return k


def _outside() -> UnsupportedError:
    """Return the error of a policy that names what the operator does not serve, whether or not it is there."""
    return UnsupportedError(
        "The policy reads or writes something outside the folder that the operator serves.",
        hint="keep all that it reads in that folder. The operator allows more with --allow-elsewhere.",
    )


@contextmanager
def _concealed(policy: Policy) -> Iterator[None]:
    """Hide in errors what the policy's variables of the environment stand for."""
    try:
        yield
    except SqlanonError as error:
        error.args = (policy.conceal(str(error)),)
        raise
