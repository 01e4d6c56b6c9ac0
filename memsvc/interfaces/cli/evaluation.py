"""Commands that measure recall on the user's own vault: eval build, eval run."""

import sys
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from memsvc.errors import NotFound
from memsvc.interfaces.cli.options import command, global_options
from memsvc.interfaces.cli.progress import progress_bar
from memsvc.interfaces.cli.session import Session
from memsvc.model.replies import Json, as_data

if TYPE_CHECKING:
    from rich.table import Table

    from memsvc.ops.evaluation.gold import Gold
    from memsvc.ops.evaluation.measure import Measured
    from memsvc.ops.evaluation.verdict import Verdict

__all__ = ["register"]

_WIDE = 100


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    group = typer.Typer(no_args_is_help=True)
    global_options(group)
    command(group, "build")(build)
    command(group, "run")(run)
    app.add_typer(
        group,
        name="eval",
        help="How well recall finds what is in this vault.",
        rich_help_panel="Upkeep",
    )


def build(
    session: Session,
    *,
    per_class: Annotated[
        int, typer.Option("--limit", min=1, help="Most questions of each class.")
    ] = 60,
    seed: Annotated[
        int, typer.Option("--seed", help="Another seed takes another sample of the questions.")
    ] = 0,
) -> None:
    """Make questions with known answers of this project's notes, for `memsvc eval run`.

    Four classes: title (a title finds its note), body (a first paragraph finds its note), bridge
    (a first paragraph finds the notes its note links to) and temporal (what was replaced finds what
    took its place). Names and texts that several notes share are left out and counted. The
    questions hold text of your notes: they stay in the home, in eval/VAULT/PROJECT/gold.json, which
    only you can read.
    """
    from memsvc.ops.evaluation.build import build_gold  # see Session.service
    from memsvc.ops.evaluation.store import EvalStore

    service, caller = session.service(), session.caller()
    with progress_bar("read") as progress:
        service.scan_all(caller, progress)
    catalogue = service.catalogue(caller)
    store = EvalStore(session.settings().home, caller)
    gold = build_gold(catalogue, seed=seed, per_class=per_class)
    if not gold.questions:
        raise NotFound(
            f"no question can be made of the {len(catalogue.notes)} notes of {gold.scope}: it takes "
            "notes with a title or a first paragraph of their own"
        )
    store.write_gold(gold)
    counted = dict.fromkeys(gold.available, 0)
    for question in gold.questions:
        counted[question.kind.value] += 1
    reply: dict[str, Json] = {
        "scope": gold.scope,
        "reads": list(gold.scopes),
        "path": str(store.gold.relative_to(session.settings().home)),
        "gold": gold.digest,
        "seed": seed,
        "questions": dict(counted),
        "available": as_data(gold.available),
        "excluded": as_data(gold.excluded),
        "links_cut": sum(question.cut for question in gold.questions),
    }
    session.show(reply, "\n".join(_built(gold, counted, str(reply["path"]))))


def run(
    session: Session,
    *,
    settings: Annotated[
        list[str],
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="Measure recall with this setting too, for example late=false; repeatable.",
        ),
    ] = [],  # noqa: B006 - typer makes a fresh list
    allow_loss: Annotated[
        bool,
        typer.Option(
            "--allow-loss", help="Accept what was lost; later runs compare with this one."
        ),
    ] = False,
) -> None:
    """Ask the questions of `memsvc eval build` in several ways, and compare with the last run.

    Recall (share of the answers found), MRR and nDCG, of the first 12 notes, by class. Recall runs
    without abstention and with a large budget: the ranking is measured, not how much of it a reply
    shows; how often recall as it is finds nothing good enough is counted apart. Ends with 1 when a
    class lost more than 0.01 nDCG against the last run on the same questions; such a run is kept,
    but nothing is compared with it.
    """
    from memsvc.ops.evaluation.arms import STANDARD, tuned_arm  # see Session.service
    from memsvc.ops.evaluation.measure import measure
    from memsvc.ops.evaluation.store import EvalStore
    from memsvc.ops.evaluation.verdict import judge

    tuned = tuned_arm(settings) if settings else None
    service, caller = session.service(), session.caller()
    with progress_bar("read") as progress:
        service.scan_all(caller, progress)
        store = EvalStore(session.settings().home, caller)
        gold = store.read_gold()
        service.embed_all(progress)
        measured = measure(service, caller, gold, tuned=tuned, progress=progress)
    verdict = judge(measured, store.last_run(gold.digest), tuned=tuned.name if tuned else "")
    store.add_run(measured, baseline=allow_loss or verdict.holds(STANDARD.name))
    if session.as_json:
        session.print_json({"run": as_data(measured), "compared": _compared(verdict)})
    else:
        _print(measured, verdict)
    if verdict.losses and not allow_loss:
        _fail(verdict)


def _compared(verdict: "Verdict") -> dict[str, Json]:
    differences: list[Json] = [
        {
            "arm": one.arm,
            "class": one.kind,
            "questions": one.questions,
            "before": one.before,
            "after": one.after,
            "lost": one.lost,
        }
        for one in verdict.differences
    ]
    return {"with": verdict.since, "notes": list(verdict.notes), "differences": differences}


def _built(gold: "Gold", counted: dict[str, int], path: str) -> list[str]:
    lines = [f"{len(gold.questions)} questions about {', '.join(gold.scopes)} in {path}"]
    for kind, number in counted.items():
        excluded = gold.excluded.get(kind, {})
        why = "; ".join(f"{count} {reason}" for reason, count in excluded.items())
        left_out = f"; left out: {why}" if why else ""
        lines.append(f"  {kind}: {number} of {gold.available[kind]}{left_out}")
    cut = sum(question.cut for question in gold.questions)
    if cut:
        lines.append(f"  {cut} links more were cut: a question asks for at most 8 notes")
    return [*lines, "It holds text of your notes: keep it in the home."]


def _print(measured: "Measured", verdict: "Verdict") -> None:
    from rich.console import Console  # slow to import

    console = Console() if sys.stdout.isatty() else Console(width=_WIDE)
    console.print(_table(measured))
    lines = [
        f"{measured.questions} questions in {measured.scope}, model {measured.model_id or 'none'}"
    ]
    if measured.gone or measured.changed:
        lines.append(
            f"the gold was built for another state of the vault: {measured.gone} questions dropped, "
            f"as notes of theirs are gone, {measured.changed} about notes that changed since; "
            "`memsvc eval build` makes it anew"
        )
    for arm in measured.arms:
        if arm.skipped:
            lines.append(f"{arm.name}: not asked, {arm.skipped}")
        if arm.crowded:
            lines.append(f"{arm.name}: {arm.crowded} replies were full before 12 notes")
        if arm.false_abstentions:
            shares = ", ".join(
                f"{kind} {share:.3f}" for kind, share in arm.false_abstentions.items()
            )
            lines.append(f"{arm.name}: false abstentions: {shares}")
    typer.echo("\n".join([*lines, *_compared_lines(verdict)]))


def _table(measured: "Measured") -> "Table":
    from rich.table import Table  # slow to import

    table = Table()
    for name in ("arm", "class"):
        table.add_column(name, overflow="fold")
    for name in ("questions", "recall@12", "MRR@12", "nDCG@12", "p50 ms", "p95 ms"):
        table.add_column(name, justify="right")
    for arm in measured.arms:
        for number, (kind, scores) in enumerate(arm.scores.items()):
            times = ("", "") if number else (f"{arm.p50_ms:.1f}", f"{arm.p95_ms:.1f}")
            table.add_row(
                "" if number else arm.name,
                kind,
                str(scores.questions),
                *(f"{value:.4f}" for value in (scores.recall, scores.mrr, scores.ndcg)),
                *times,
                end_section=number == len(arm.scores) - 1,
            )
    return table


def _compared_lines(verdict: "Verdict") -> list[str]:
    if not verdict.since:
        return ["no earlier run on these questions: nothing to compare with"]
    lines = [f"nDCG against {verdict.since}:"]
    lines += [
        f"  {one.arm}, {one.kind}: {one.before:.4f}, now {one.after:.4f} "
        f"({one.after - one.before:+.4f}, {one.questions} questions)"
        f"{'  LOST' if one.lost else ''}"
        for one in verdict.differences
    ]
    return [*lines, *(f"  also changed: {note}" for note in verdict.notes)]


def _fail(verdict: "Verdict") -> NoReturn:
    """One line that names what was lost, and the exit status 1."""
    lost = "; ".join(
        f"{one.kind} {one.before:.4f} to {one.after:.4f} ({one.arm})" for one in verdict.losses
    )
    sys.stdout.flush()
    typer.echo(
        f"memsvc: a class lost more than 0.01 nDCG against {verdict.since}: {lost}; take the "
        "change back, or accept the loss with --allow-loss",
        err=True,
    )
    raise typer.Exit(1)
