"""Runs memory-bench on memsvc: official data, any vault, or generated ones; writes, checks, ablates."""

import argparse
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, cast

from rich.console import Console
from rich.progress import track

from bench.memory_bench import report, result
from bench.memory_bench.adapter import Bench
from bench.memory_bench.data import TestSet, load, official, published
from bench.memory_bench.score import Score, score
from bench.memory_bench.tunings import changed, single_changes
from memsvc import __version__
from memsvc.service.recall.tuning import DEFAULT, Tuning

__all__ = ["Trial", "check", "main", "rescore", "run_set"]

_OUT = Console(width=150)
_ERR = Console(stderr=True)
OFFICIAL = "memory-bench"
RESULTS = Path(__file__).resolve().parent.parent / "results"


@dataclass(frozen=True, slots=True)
class Trial:
    """One vault asked with one tuning."""

    tuning: Tuning
    entries: list[dict[str, object]]
    score: Score
    made: dict[str, Any]
    """The whole result file."""

    def row(self) -> report.Row:
        """Its line in a table."""
        return report.flat(self.score, result.milliseconds(self.entries))


def main(arguments: Sequence[str]) -> int:
    """0 done, 1 a check that failed."""
    asked = _parser().parse_args(arguments)
    if asked.rescore:
        return _told(asked.rescore, rescore(asked.rescore))
    with _folder(asked) as work:
        if asked.regenerate:
            return _regenerate(work)
        if asked.check:
            return _told(asked.check, check(asked.check, work))
        ablated = asked.ablation is not None
        tunings = single_changes(asked.change) if ablated else {"memsvc": changed(asked.set)}
        trials = _run(asked, tunings, work)
    if ablated:
        _write_ablation(asked.ablation, trials)
    elif asked.generated is None and not asked.vault:
        _show_official(trials)
    else:
        rows = {name: found["memsvc"].row() for name, found in trials.items()}
        _show(f"{len(rows)} vaults", rows)
    if asked.out:
        _write(asked.out, trials, pool=asked.pool)
    return 0


def run_set(
    test: TestSet,
    tunings: Mapping[str, Tuning],
    work: Path,
    *,
    models: Path | None = None,
    reuse: bool = False,
    shipped: bool = False,
) -> dict[str, Trial]:
    """Index a vault once and ask all its questions with each tuning."""
    bench = Bench.open(test, work, models=models, reuse=reuse, shipped=shipped)
    try:
        made: dict[str, Trial] = {}
        for name, tuning in tunings.items():
            told = track(
                test.questions,
                name[:24].ljust(24),
                console=_ERR,
                transient=True,
                disable=not _ERR.is_terminal,
            )
            entries = [{"id": one.id} | bench.ask(one.text, tuning=tuning) for one in told]
            whole = result.make(test, bench, entries, tuning)
            made[name] = Trial(tuning, entries, score(test, entries), whole)
        return made
    finally:
        bench.close()


def rescore(path: Path) -> list[str]:
    """What a committed result file claims wrongly; nothing is run."""
    return result.faults(result.read(path), official())


def check(path: Path, work: Path) -> list[str]:
    """What is wrong with a result file, or differs when it is run again from a clean index.

    Nothing may differ. The row of the model's default build can be run again only on a processor
    with the same instructions, where its products round alike; that of the shipped build on others.
    """
    kept, test = result.read(path), official()
    wrong = result.faults(kept, test)
    if wrong:
        return wrong
    shipped = str(kept["system"]["config"]["embedder"]).endswith(result.SHIPPED)
    made_on, here = kept["runtime"]["processor"], result.processor()
    if made_on != here and not shipped:
        rounds = "there the 8-bit build of the model rounds otherwise"
        return [f"made on {made_on}, this is {here}: {rounds}; check the row of the shipped build"]
    fresh = run_set(test, {"memsvc": DEFAULT}, work, shipped=shipped)["memsvc"].made
    mine, theirs = kept["system"]["config"], fresh["system"]["config"]
    if mine != theirs:
        keys = [key for key in theirs if mine.get(key) != theirs[key]]
        wrong = [f"system.config.{key} was {mine.get(key)}, is {theirs[key]}" for key in keys]
    wrong += result.differences(kept, fresh)
    if any(kept[part] != fresh[part] for part in ("metrics", "extras")):
        wrong.append("the rerun scores otherwise")
    return wrong


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.memory_bench", description=__doc__)
    parser.add_argument("--vault", type=Path, help="another vault of the same shape")
    parser.add_argument("--questions", type=Path, help="its questions, JSON lines")
    parser.add_argument("--generated", type=int, nargs="+", metavar="SEED", help="generated vaults")
    parser.add_argument("--pool", choices=("tune", "held_out"), default="tune")
    parser.add_argument("--world", default="", help="of the generated vaults; else by seed")
    parser.add_argument("--size", type=int, default=0, help="of the generated vaults; else by seed")
    parser.add_argument(
        "--set", type=_change, default="", help="changes of Tuning: links=false,late=false"
    )
    parser.add_argument("--ablation", type=Path, metavar="FILE", help="write a table of changes")
    parser.add_argument(
        "--change", type=_change, action="append", default=[], help="one more row of it"
    )
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the result file")
    parser.add_argument("--rescore", type=Path, metavar="FILE", help="recompute a file's numbers")
    parser.add_argument("--check", type=Path, metavar="FILE", help="recompute, rerun, compare")
    parser.add_argument(
        "--regenerate", action="store_true", help="write both rows in bench/results anew"
    )
    parser.add_argument(
        "--shipped", action="store_true", help="the model's build that computes in floats"
    )
    parser.add_argument("--work", type=Path, help="folder for the homes; else a temporary one")
    parser.add_argument(
        "--keep", action="store_true", help="leave and reuse the indexed homes in --work"
    )
    return parser


def _change(text: str) -> str:
    """A legal change of a tuning, or a usage error that says what is legal."""
    try:
        changed(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    return text


@contextmanager
def _folder(asked: argparse.Namespace) -> Iterator[Path]:
    if asked.work:
        asked.work.mkdir(parents=True, exist_ok=True)
        yield asked.work
        return
    folder = Path(tempfile.mkdtemp(prefix="memory-bench-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _run(
    asked: argparse.Namespace, tunings: Mapping[str, Tuning], work: Path
) -> dict[str, dict[str, Trial]]:
    """Trials by vault, then by tuning."""
    made: dict[str, dict[str, Trial]] = {}
    models: Path | None = None
    for name, test in _sets(asked, work):
        place = work / name.replace(" ", "-")
        made[name] = run_set(
            test, tunings, place, models=models, reuse=asked.keep, shipped=asked.shipped
        )
        models = models or place / "home" / "models"
        _ERR.print(f"{name}: {len(test.notes)} notes, {len(test.questions)} questions")
    return made


def _sets(asked: argparse.Namespace, work: Path) -> Iterator[tuple[str, TestSet]]:
    if asked.vault:
        questions = asked.questions or asked.vault.parent / "questions.jsonl"
        yield asked.vault.name, load(asked.vault, questions)
    elif asked.generated is None:
        yield OFFICIAL, official()
    for seed in asked.generated or ():
        from bench.generate import build, write  # only generated vaults need the generator

        pool = cast("Literal['tune', 'held_out']", asked.pool)
        made = build(seed, pool=pool, world=asked.world, size=asked.size)
        folder = work / f"made-{pool}-{made.world}-{seed}-{asked.size}"
        shutil.rmtree(folder, ignore_errors=True)
        write(made, folder)
        yield f"{made.world} {seed}", load(folder / "vault", folder / "questions.jsonl")


def _regenerate(work: Path) -> int:
    """Both rows that are committed, of the product as it is."""
    for shipped in (False, True):
        found = run_set(official(), {"memsvc": DEFAULT}, work / str(shipped), shipped=shipped)
        made = found["memsvc"].made
        result.write(made, RESULTS / f"{made['system']['name']}.json")
        _show_official({OFFICIAL: found})
    return 0


def _show_official(trials: Mapping[str, Mapping[str, Trial]]) -> None:
    test = official()
    rows = {
        str(row["system"]["name"]): report.of_result(row, score(test, row["per_question"]))
        for row in published()
    }
    report.show(OFFICIAL, rows | {"memsvc": trials[OFFICIAL]["memsvc"].row()}, _OUT)


def _show(title: str, rows: Mapping[str, report.Row]) -> None:
    whole = dict(rows) | ({"mean": report.mean(list(rows.values()))} if len(rows) > 1 else {})
    report.show(title, whole, _OUT)


def _write_ablation(path: Path, trials: Mapping[str, Mapping[str, Trial]]) -> None:
    names = next(iter(trials.values()))
    rows = {name: report.mean([found[name].row() for found in trials.values()]) for name in names}
    table = report.markdown(rows)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"Mean over: {', '.join(trials)}.\n\n{table}", encoding="utf-8")
    print(table)


def _write(path: Path, trials: Mapping[str, Mapping[str, Trial]], *, pool: str) -> None:
    """The result file of the one official run, else the numbers of every vault and their mean."""
    if list(trials) == [OFFICIAL]:
        found = trials[OFFICIAL]
        result.write(found.get("memsvc", next(iter(found.values()))).made, path)
        return
    firsts = {name: next(iter(found.values())) for name, found in trials.items()}
    kept = ("vault_sha256", "questions_sha256", "metrics", "extras")
    summary = {
        "schema": "memsvc/memory-bench-summary@1",
        "version": __version__,
        "date": datetime.now(UTC).date().isoformat(),
        "pool": pool,
        "tuning": asdict(next(iter(firsts.values())).tuning),
        "mean": report.mean([one.row() for one in firsts.values()]),
        "vaults": {name: {key: one.made[key] for key in kept} for name, one in firsts.items()},
    }
    result.write(summary, path)


def _told(path: Path, wrong: Sequence[str]) -> int:
    for one in wrong:
        _ERR.print(one, markup=False, highlight=False)
    _ERR.print(f"{path.name}: {f'{len(wrong)} faults' if wrong else 'holds'}")
    return 1 if wrong else 0
