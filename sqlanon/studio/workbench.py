"""What stands behind the page: a table, its policy, and a thread that finds what the policy costs.

Every change of the policy makes a new revision. The thread answers the latest one in steps, the quick ones first, and
gives up what an older one asked for. Each part of the page is a fragment with the version in which it last changed.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

from sqlanon.assess.frontier.verb import frontier
from sqlanon.assess.profiling.drafting import PolicyDraft, draft
from sqlanon.assess.profiling.profile import profile
from sqlanon.assess.profiling.proposed import Proposal, proposal_of
from sqlanon.core.anonymizer import anonymize, plan, recode
from sqlanon.core.disk.writing import write_text
from sqlanon.core.engines.journal import Step
from sqlanon.core.plan.full_domain import Plan
from sqlanon.core.plan.publishing import PublishablePlan
from sqlanon.core.policy import Policy
from sqlanon.core.policy.documents import read_document
from sqlanon.errors import InputError, NoSolutionError, SqlanonError, UnsupportedError
from sqlanon.report.files import write_report
from sqlanon.report.summarizing import summarize
from sqlanon.studio.drafts import Change, EditedPolicy, changed, drafted, of_document
from sqlanon.studio.outcome import FINER_SECONDS, Price, finer_levels, levels_in_numbers, rows_beside
from sqlanon.studio.pages import OUTCOME, Pages

UNFORESEEN = "This failed in a way that was not foreseen ({}). Change the policy back, or run the command."
FRONTIER_KS, FRONTIER_LIMITS = (2, 3, 5, 10, 20), ("0", "0.01", "0.05", "0.1")
COMPARED = {"": "one rule for all records", "local_recoding": "several rules", "patterns": "patterns"}
"""What may be done to the records: the type of a transformation, and its name on the page."""
COMPARED_SECONDS = 20
MOST_OF_A_NAME = 200
"""Bytes of the name of a release: others that stand beside it have longer ones."""
POLICIES = (".yaml", ".yml", ".json", ".toml")


@dataclass(frozen=True, slots=True)
class Task:
    """What was asked of the thread beside the outcome of the latest policy: a comparison, or a release, of the policy
    that the page showed then."""

    what: str
    policy: EditedPolicy
    options: Mapping[str, Any] = field(default_factory=dict)


class Workbench:
    """A table and the policy that a page edits. ``change`` and ``state`` are called by the server, the rest by the
    thread of ``start``.

    Args:
        source: what a policy may have as its source; a file with the ending of a policy is one that is opened.
        folder: where policies and releases are written.
        show_records: show some records before and after.
    """

    def __init__(
        self,
        source: object,
        table: str | None = None,
        *,
        csv: Mapping[str, Any] | None = None,
        formats: Mapping[str, Mapping[str, Any]] | None = None,
        folder: Path,
        show_records: bool = False,
    ) -> None:
        self._source, self._table, self._csv, self._formats = source, table, csv or {}, formats or {}
        self.folder, self.show_records = folder, show_records
        self._lock = threading.Condition()
        self._policy: EditedPolicy | None = None
        self._past: list[EditedPolicy] = []
        self._draft: PolicyDraft | None = None
        self._profiled: Any = None
        self._revision = self._version = 0
        self._answered = self._shown = -1
        self._stopped = self._closed = False
        self._asked: list[Task] = []
        self._carried: Task | None = None
        self._earlier: set[str] = set()
        """Parts of the outcome that are still those of an earlier policy."""
        self._plan: Plan | None = None
        self._thread: threading.Thread | None = None
        self._fragments: dict[str, tuple[int, str]] = {}
        self._status: tuple[str, str] = ("busy", "Reading the table.")
        self.published: list[str] = []
        """The names of the releases that stand."""
        self.pages = Pages()

    # -- called by the server ------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Begin to work in a thread of its own, which ends with the process."""
        self._thread = threading.Thread(target=self._work, name="sqlanon studio", daemon=True)
        self._thread.start()

    def close(self, seconds: float = 5.0) -> bool:
        """End the thread, wait for its end as long as that, for a release longer, and return whether it has ended."""
        with self._lock:
            self._closed = self._stopped = True
            self._lock.notify_all()
        if self._thread is not None:
            while self._carried is not None and self._carried.what == "publish" and self._thread.is_alive():
                self._thread.join(0.1)
            self._thread.join(seconds)
        return self._thread is None or not self._thread.is_alive()

    def change(self, change: Change) -> None:
        """Carry out what a person did on the page; ``seen``: only if that is the revision of the policy still.

        Raises:
            SqlanonError: it cannot be done; nothing has changed.
        """
        action = change.get("action")
        with self._lock:
            if action == "stop":
                self._stopped = True
                return
            if self._policy is None:
                if self._answered >= 0:
                    raise InputError("The table could not be read.", hint="start the studio with another one.")
                raise InputError("The table is still being read.", hint="wait until its columns are shown.")
            if str(change.get("seen", self._revision)) != str(self._revision):
                raise InputError("The policy has changed since this page showed it.", hint="look at it, and ask again.")
            change = {key: value for key, value in change.items() if key != "seen"}
            if action in ("compare", "publish"):
                asked = Task(str(action), self._policy, dict(change))
                if asked not in (*self._asked, self._carried):  # not what a double click asks for twice
                    self._asked.append(asked)
                    self._say("busy", "Waiting for what is done at the moment.")
            elif action == "undo":
                if not self._past:
                    raise InputError("There is nothing to undo.", hint="change something first.")
                self._take(self._past.pop())
            else:
                if action == "hierarchy" and change.get("value") == "groups":
                    change["values"] = self.pages.values_of(self._policy, str(change.get("column")))
                policy = self._proposed(change) if action == "proposal" else changed(self._policy, change)
                self._past.append(self._policy)
                self._take(policy)
            self._lock.notify_all()

    def state(self, since: int) -> dict[str, Any]:
        """Return the parts of the page that changed after a version, and whether more is to come."""
        with self._lock:
            busy = self._answered != self._revision or self._carried is not None or bool(self._asked)
            kind, said = self._status
            return {
                "version": self._version,
                "revision": self._revision,
                "busy": busy,
                "status": {"kind": "busy" if busy else kind, "text": said},
                "fragments": {name: text for name, (version, text) in self._fragments.items() if version > since},
            }

    def policy_text(self) -> str:
        """Return the text of the policy as it stands."""
        with self._lock:
            policy = self._policy
        if policy is None:
            raise InputError("The table is still being read.", hint="wait until its columns are shown.")
        return policy.text({"file": "released.parquet"} if policy.origin else None, anywhere=True)

    def _proposed(self, change: Change) -> EditedPolicy:
        """Return the policy of a release that the draft's search has found."""
        if self._draft is None:
            raise InputError("There is no such proposal.", hint="load the page anew.")
        found = draft(
            self._profiled,
            folder=self.folder,
            search="one rule",
            source=self._source,
            proposal=str(change["value"]),
            searched=self._draft.proposals,
        )
        policy, now = drafted(found, self.folder), self._policy
        kept = {} if now is None else {key: value for key, value in now.settings.items() if key != "transformation"}
        return replace(policy, settings={**policy.settings, **kept})

    def _take(self, policy: EditedPolicy) -> None:
        """Make a policy the present one, of a new revision, and draw what depends on it alone."""
        self._policy = policy
        self._revision += 1
        self._stopped = False
        self._status = ("busy", "Searching.")
        self._earlier = set(OUTCOME)
        if self._fragments.get("released", (0, ""))[1]:
            self._show({"released": self.pages.earlier(self._fragments["released"][1])})
        self._show(self.pages.of_policy(policy, self._draft, can_undo=bool(self._past)))

    def _show(self, fragments: Mapping[str, str]) -> None:
        """Put parts of the page in place, those that differ as of a new version."""
        with self._lock:
            self._version += 1
            for name, text in fragments.items():
                if self._fragments.get(name, (0, None))[1] != text:
                    self._fragments[name] = (self._version, text)

    # -- the thread ----------------------------------------------------------------------------------------------------

    def _work(self) -> None:
        self._guarded(0, self._open)
        while True:
            with self._lock:
                while not self._closed and self._answered == self._revision and not self._asked:
                    self._lock.wait()
                if self._closed:
                    break
                revision, policy = self._revision, self._policy
                asked = self._asked.pop(0) if self._answered == revision and self._asked else None
                self._carried = asked
                self._stopped = self._closed
            if asked is not None:
                self._guarded(revision, partial(self._carry_out, asked))
            elif policy is not None:
                self._guarded(revision, partial(self._answer, revision, policy))
            with self._lock:
                if asked is None and self._revision == revision:  # what was stopped before it was found anew
                    self._show(dict.fromkeys(self._earlier & self._fragments.keys(), ""))
                self._answered, self._carried = revision, None
        if self._plan is not None:
            self._plan.close()

    def _guarded(self, revision: int, work: Callable[[], None]) -> None:
        """Do a piece of work for a revision; what fails is said on the page, unless another has taken its place."""
        error: SqlanonError | None = None
        try:
            work()
            return
        except KeyboardInterrupt:
            kind, said = "stopped", "Stopped."
        except SqlanonError as raised:
            error, kind = raised, "failed"
            said = "There is no such release." if isinstance(error, NoSolutionError) else "This failed."
        except BaseException as raised:  # a library's message may hold a value, and a panic of Rust is no Exception
            kind, said = "failed", UNFORESEEN.format(type(raised).__name__)
        with self._lock:
            if self._revision == revision:
                if kind == "failed" or self._shown != revision:
                    self._show(self.pages.without_outcome(error, self._policy))
                self._say(kind, said)

    def _say(self, kind: str, text: str) -> None:
        with self._lock:
            self._status = (kind, text)
            self._version += 1

    def _watching(self, revision: int | None) -> Callable[[Step], None]:
        """Return what is called with each step of a run: it says it on the page, and ends what nobody waits for.

        Args:
            revision: that of the policy; None: of a release, which later changes do not end, nor anything its writing.
        """

        def watch(step: Step) -> None:
            overtaken = revision is not None and self._revision != revision
            if (overtaken or self._stopped or self._closed) and step.phase not in ("publishing", "auditing"):
                raise KeyboardInterrupt
            self._say("busy", self.pages.step(step))

        return watch

    def _open(self) -> None:
        """Read the table or the policy, and draft a policy where there is none."""
        path = Path(self._source) if isinstance(self._source, str | Path) else None
        if path is not None and path.suffix.lower() in POLICIES:
            self._open_policy(path)
            return
        found = profile(self._source, self._table, csv=self._csv, formats=self._formats)
        self._profiled = found
        given = None if path is not None else self._source
        first = draft(found, folder=self.folder, source=given)
        policy = drafted(first, self.folder)
        self._show(self.pages.of_policy(policy, None, can_undo=False))
        self._say("busy", "Trying which columns can be published together.")
        searched = draft(found, folder=self.folder, search="one rule", source=given)
        with self._lock:
            self._draft = searched
            self._take(drafted(searched, self.folder))

    def _open_policy(self, path: Path) -> None:
        document = read_document(path)
        policy = Policy.from_file(path)
        if policy.source is None or policy.files or policy.join or "tables" in document:
            raise UnsupportedError(
                "The studio opens policies of one table.", hint="name a policy with a source, or a table."
            )
        self._source, self.folder = policy.resolve(policy.source), path.absolute().parent
        found = profile(self._source, policy.table, csv=policy.csv, formats=policy.formats)
        with self._lock:
            self._profiled = found
            self._take(of_document(document, found, self.folder))

    def _answer(self, revision: int, edited: EditedPolicy) -> None:
        """Find what a policy costs, the quick answers first."""
        policy = edited.policy()
        policy = replace(policy, search=replace(policy.search, on_interrupt="publish"))
        self._say("busy", "Searching.")
        found = self._searched(policy, self._watching(revision))
        try:
            self._tell(revision, edited, policy, found)
        finally:
            if found is not self._plan and not isinstance(found, Plan):
                found.close()

    def _tell(self, revision: int, edited: EditedPolicy, policy: Policy, found: PublishablePlan) -> None:
        """Show what a plan costs, in steps."""
        self._say("busy", "Measuring.")
        release = found.publish()
        self._tell_now(revision, self.pages.of_run(summarize(release, measure="nothing"), edited))
        self._shown = revision
        if isinstance(found, Plan):
            levels = levels_in_numbers(found, edited.least, self.pages.counted_levels(edited))
            self._tell_now(revision, lambda: self.pages.of_levels(levels))
            if self.show_records:
                self._tell_now(revision, self.pages.of_rows(rows_beside(found)))
        self._tell_now(revision, self.pages.of_measured(summarize(release, measure="columns"), edited))
        if not isinstance(found, Plan):
            self._tell_now(revision, self.pages.without_prices())
        if self._stopped:
            proven = found.certificate.optimal
            self._say("stopped", "Stopped." if proven else "Stopped: this is the best release that was found.")
            return
        if isinstance(found, Plan):
            self._ask_further(revision, edited, policy, found)
        self._say("done", "Done.")

    def _tell_now(self, revision: int, fragments: Mapping[str, str] | Callable[[], Mapping[str, str]]) -> None:
        """Show parts of a revision, unless another has taken its place; what draws them of the page's own policy is
        called while no other can."""
        with self._lock:
            if self._revision != revision:
                raise KeyboardInterrupt
            drawn = fragments() if callable(fragments) else fragments
            self._earlier -= drawn.keys()
            self._show(drawn)

    def _ask_further(self, revision: int, edited: EditedPolicy, policy: Policy, found: Plan) -> None:
        """Show what finer levels would cost, and the frontier."""
        self._say("busy", "Asking what finer levels would cost.")
        short = replace(policy, search=replace(policy.search, time_limit=FINER_SECONDS, on_interrupt="discard"))
        prices: list[Price] = []
        for price in finer_levels(found, short):
            prices.append(price)
            self._tell_now(revision, self.pages.of_prices(prices))
            if self._stopped:
                raise KeyboardInterrupt
        self._tell_now(revision, self.pages.of_prices(prices, done=True))
        self._say("busy", "Searching the frontier.")
        self._frontier(revision, edited, short)

    def _searched(self, policy: Policy, watch: Callable[[Step], None]) -> PublishablePlan:
        """Return the plan of a policy; what is encoded already is used again."""
        source = None if self._profiled is not None and not self._is_frame else self._source
        if policy.transformation is not None:
            return recode(source, policy, watch=watch)
        if self._plan is not None:
            journals = {self._plan.engine.journal, self._plan.session.judging.journal}
            for journal in journals:
                journal.watched_by(watch)
            try:
                return self._plan.with_policy(policy)
            except InputError:  # it needs another encoding; what is wrong with it, the new plan says
                kept, self._plan = self._plan, None
                with suppress(SqlanonError):
                    kept.close()
            finally:
                for journal in journals:
                    journal.watched_by(None)
        self._plan = plan(source, policy, watch=watch)
        return self._plan

    @property
    def _is_frame(self) -> bool:
        return not isinstance(self._source, str | Path)

    def _frontier(self, revision: int, edited: EditedPolicy, policy: Policy) -> None:
        """Show the frontier with the present point on it."""
        k, limit = edited.k(), policy.suppression_limit
        ks = sorted({*FRONTIER_KS, *([k] if k is not None else [])})
        limits = sorted({*map(Decimal, FRONTIER_LIMITS), *([limit] if limit is not None else [])})
        source = self._source if self._is_frame else None
        try:
            found = frontier(source, policy, ks, limits, watch=self._watching(revision))
        except UnsupportedError as error:
            self._tell_now(revision, self.pages.of_frontier(None, error.message, edited))
            return
        self._tell_now(revision, self.pages.of_frontier(found, "", edited))

    def _carry_out(self, asked: Task) -> None:
        if asked.what == "compare":
            self._compare(asked.policy)
        else:
            try:
                whole = self._publish(asked.policy, asked.options)
            except SqlanonError as error:
                self._show({"released": self.pages.failure(error)})
                self._say("failed", "Nothing was published.")
                return
            if not whole:
                self._say("failed", "The release is published, but not all that goes with it.")
                return
        self._say("done", "Done.")

    def _compare(self, edited: EditedPolicy) -> None:
        """Show one rule, several rules and patterns side by side."""
        found: list[tuple[str, str, Proposal | str]] = []
        source, watch = self._source if self._is_frame else None, self._watching(self._revision)
        for kind, name in COMPARED.items():
            self._say("busy", f"Comparing: {name}.")
            try:
                policy = changed(edited, {"action": "method", "value": kind}).policy()
                limited = replace(policy.search, time_limit=COMPARED_SECONDS, on_interrupt="publish")
                policy = replace(policy, search=limited)
                make = recode if kind else plan
                with make(source, policy, watch=watch) as each:
                    found.append((kind, name, proposal_of("", each)))
            except SqlanonError as error:
                found.append((kind, name, error.message))
            self._show(self.pages.of_comparison(found))

    def _publish(self, edited: EditedPolicy, options: Mapping[str, Any]) -> bool:
        """Carry a policy out, write it and its report beside the release, and return whether all of that is there."""
        name = str(options.get("name", "")).strip()
        odd = not name.isprintable() or "${" in name or len(name.encode("utf-8", "replace")) > MOST_OF_A_NAME
        if not name or Path(name).name != name or name.startswith(".") or odd:
            raise InputError("This is no name of a file.", hint="write a short name with an ending, and no folder.")
        written = self.folder / f"{Path(name).stem}.policy.yaml"
        report = self.folder / f"{Path(name).stem}.report.html"
        output = {"file": name}
        again = {"if_exists": "replace"} if options.get("replace") else {}
        edited = replace(edited, settings={**edited.settings, **again})
        if not again and (taken := next((each for each in (written, report) if each.exists()), None)) is not None:
            raise InputError(f"The file {taken.name!r} is there already.", hint="choose another name, or replace it.")
        if (folder := next((each for each in (written, report) if each.is_dir()), None)) is not None:
            raise InputError(f"There is a folder {folder.name!r}.", hint="choose another name.")
        policy = edited.policy(output)
        self._say("busy", "Publishing.")
        source = self._source if self._is_frame else None
        with anonymize(source, policy, watch=self._watching(None)) as release:
            self.published.append(name)
            try:
                write_text(written, edited.text(output))
                run = summarize(release)
                write_report(run, report)
            except SqlanonError as error:
                self._show({"released": self.pages.failure(error)})
                return False
        self._show(self.pages.of_release(run, name, written.name, report.name, self.folder))
        return True
