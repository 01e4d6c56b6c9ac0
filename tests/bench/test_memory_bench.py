"""The scorer, the check of a result file, and the small rules of the adapter."""

import copy
import json
import math
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bench.memory_bench import data, result
from bench.memory_bench.adapter import asks_for_history, quote_of
from bench.memory_bench.data import Question, TestSet, load, official, published, unfolded
from bench.memory_bench.run import RESULTS, main, rescore
from bench.memory_bench.score import Split, judge, score
from bench.memory_bench.tunings import changed, single_changes, switched_off
from memsvc.service.recall.tuning import DEFAULT

COMMITTED = RESULTS / "memsvc.json"

NOTES = {
    "ada": "Ada works on the Fen team.",
    "fen": "The Fen team is headed by Bo Lind since 2012.",
    "old": "The deadline was set to 3 March.",
    "new": "The deadline was moved to 12 March.",
}
BRIDGE = Question("q1", "bridge", "Who heads Ada's team?", ("Bo Lind",), ("ada", "fen"))
FIRST = Question("q2", "temporal", "What was it originally?", ("3 March",), ("old",))
NOW = Question("q3", "temporal", "What is it now?", ("12 March",), ("new",))
NONE = Question("q4", "absent_entity", "Who heads Cy's team?", (), ())
SMALL = TestSet(
    vault=Path(),
    questions=(BRIDGE, FIRST, NOW, NONE),
    notes=NOTES,
    replaced=frozenset({"old"}),
    vault_sha256="",
    questions_sha256="",
)


@pytest.fixture(scope="module")
def test_set() -> TestSet:
    return official()


@pytest.fixture(scope="module")
def committed() -> dict[str, Any]:
    return result.read(COMMITTED)


def cite(*pairs: tuple[str, str]) -> list[dict[str, str]]:
    return [{"note": note, "quote": quote} for note, quote in pairs]


# -- data ------------------------------------------------------------------------------------


def test_the_committed_data_is_what_was_published_and_a_changed_byte_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = official()
    assert (len(found.notes), len(found.questions), len(found.replaced)) == (202, 91, 10)
    shutil.copytree(data.VAULT, tmp_path / "vault")
    note = tmp_path / "vault" / "home.md"
    note.write_bytes(note.read_bytes().replace(b"Larkfield", b"Larkfie1d", 1))
    monkeypatch.setattr(data, "VAULT", tmp_path / "vault")
    with pytest.raises(data.DataChanged, match="the vault"):
        official()


def test_line_ends_do_not_change_a_hash_but_another_file_does(tmp_path: Path) -> None:
    vault, questions = tmp_path / "vault", tmp_path / "questions.jsonl"
    (vault / "sub").mkdir(parents=True)
    questions.write_text("")
    note = vault / "sub" / "A.md"
    note.write_bytes(b"one\r\ntwo\r\n")
    before = load(vault, questions)
    note.write_bytes(b"one\ntwo\n")
    assert load(vault, questions).vault_sha256 == before.vault_sha256
    assert before.notes == {"a": "one two"}
    (vault / "b.md").write_bytes(b"")
    assert load(vault, questions).vault_sha256 != before.vault_sha256


def test_a_note_counts_as_replaced_by_its_own_word_or_by_its_successors(tmp_path: Path) -> None:
    heads = {
        "a": "status: superseded",
        "b": 'superseded_by: "[[c]]"',
        "c": 'supersedes: "[[d|the old one]]"',
        "d": "status: current",
        "e": 'supersedes:\n  - "[[f]]"\n  - "[[gone]]"',
        "f": "title: superseded things",
    }
    for name, head in heads.items():
        (tmp_path / f"{name}.md").write_text(f"---\n{head}\n---\nstatus: superseded\n")
    (tmp_path / "g.md").write_text("status: superseded\n")
    questions = tmp_path / "questions.jsonl"
    questions.write_text("")
    assert load(tmp_path, questions).replaced == {"a", "b", "d", "f"}


# -- metrics ---------------------------------------------------------------------------------


@pytest.mark.parametrize("row", published(), ids=lambda row: str(row["system"]["name"]))
def test_every_published_number_comes_out_of_the_published_outputs(
    row: dict[str, Any], test_set: TestSet
) -> None:
    assert result.faults(row, test_set, ours=False) == []
    found = score(test_set, row["per_question"]).metrics
    assert found.overall.keys() == row["metrics"]["overall"].keys()
    assert found.overall == pytest.approx(row["metrics"]["overall"], abs=1e-9)
    for name, numbers in row["metrics"]["by_class"].items():
        assert found.by_class[name] == pytest.approx(numbers, abs=1e-9)


def test_the_published_graph_row_cites_the_old_deadline_each_time(test_set: TestSet) -> None:
    by_name = {row["system"]["name"]: row for row in published()}
    temporal = score(test_set, by_name["sqlite-graph-memory"]["per_question"]).temporal
    assert temporal == {
        "current": 6,
        "current_cited_first": 0,
        "original": 4,
        "original_cited_first": 4,
    }


def test_ranks_count_each_gold_note_once_by_its_first_place() -> None:
    entry = {"retrieved": ["x/Fen.md", "fen", "a", "b", "c", "ADA"], "answer": "x"}
    found = judge(BRIDGE, entry, SMALL)
    assert (found.recall_5, found.recall_10, found.reciprocal) == (1.0, 1.0, 1.0)
    assert found.gain == pytest.approx((1 + 1 / math.log2(6)) / (1 + 1 / math.log2(3)))
    entry = {"retrieved": ["a", "b", "c", "fen", "d", "ada"], "answer": "x"}
    found = judge(BRIDGE, entry, SMALL)
    assert (found.recall_5, found.recall_10, found.reciprocal) == (0.5, 1.0, 0.25)


def test_an_answer_holds_a_gold_string_only_as_whole_words() -> None:
    assert judge(BRIDGE, {"answer": "It is bo lind."}, SMALL).answered
    assert not judge(BRIDGE, {"answer": "It is Bo Linde."}, SMALL).answered
    assert judge(BRIDGE, {"answer": " "}, SMALL).abstained
    assert not judge(BRIDGE, {"answer": "I don't know"}, SMALL).abstained


def test_a_quote_proves_only_when_it_is_true_long_gold_and_of_a_needed_note() -> None:
    proving = "The Fen team is headed by Bo Lind"
    assert judge(BRIDGE, {"citations": cite(("fen", proving))}, SMALL).quoted
    assert judge(BRIDGE, {"citations": cite(("fen", proving))}, SMALL).first_quote
    for note, quote in (
        ("ada", proving),
        ("fen", "by Bo Lind"),
        ("fen", "The Fen team is"),
        ("fen", "the fen team is headed by Bo Lind"),
    ):
        assert not judge(BRIDGE, {"citations": cite((note, quote))}, SMALL).quoted


def test_quotes_are_counted_once_and_only_the_first_five() -> None:
    given = cite(("fen", "The Fen team"), ("fen", "The  Fen team"), ("fen", "made up"))
    found = judge(BRIDGE, {"citations": [*given, *cite(*[("ada", "Ada works")] * 2)]}, SMALL)
    assert (found.quotes, found.true_quotes) == (3, 2)
    found = judge(BRIDGE, {"citations": cite(*[("ada", "Ada works")] * 5) + given}, SMALL)
    assert (found.quotes, found.true_quotes) == (1, 1)


def test_old_values_are_counted_when_nothing_marks_them() -> None:
    shown = {"id": "q3", "retrieved": ["new", "old"], "citations": cite(("new", NOTES["new"]))}
    first = {"id": "q2", "retrieved": ["new", "old"], "citations": cite(("old", NOTES["old"]))}
    bare = score(SMALL, [shown, first])
    assert bare.extras.overall["superseded_as_current"] == 2
    marked = score(SMALL, [one | {"not_current": ["old"]} for one in (shown, first)])
    assert marked.extras.overall["superseded_as_current"] == 0
    assert marked.temporal == {
        "current": 1,
        "current_cited_first": 1,
        "original": 1,
        "original_cited_first": 1,
    }
    wrong = score(SMALL, [first | {"not_current": ["new", "old"]}])
    assert wrong.extras.overall["current_as_superseded"] == 1


def test_a_question_without_an_entry_counts_as_missed_and_abstained() -> None:
    found = score(SMALL, [{"id": "q4", "answer": "Bo"}]).metrics.overall
    assert (found["recall@5"], found["false_abstain"], found["abstain_correct"]) == (0, 1, 0)
    assert score(SMALL, []).metrics.by_class["absent_entity"]["abstain_correct"] == 1.0
    assert isinstance(score(SMALL, []).metrics, Split)


# -- the result file ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["memsvc", "memsvc-shipped"])
def test_a_committed_result_holds_what_it_claims(name: str) -> None:
    path = RESULTS / f"{name}.json"
    assert rescore(path) == []
    assert result.read(path)["system"]["name"] == name


Forgery = Callable[[dict[str, Any]], object]


def _invent(made: dict[str, Any]) -> None:
    made["per_question"][0]["citations"] = cite(("home", "Words that stand in no note at all"))


def _answer(made: dict[str, Any], test_set: TestSet) -> None:
    for entry, question in zip(made["per_question"], test_set.questions, strict=True):
        entry["answer"] = question.answers[0] if question.answers else None


FORGERIES: dict[str, Forgery] = {
    "a number": lambda made: made["metrics"]["overall"].update({"recall@5": 1.0}),
    "a nudge": lambda made: made["metrics"]["overall"].update(
        {"recall@5": made["metrics"]["overall"]["recall@5"] + 1e-4}
    ),
    "a class": lambda made: made["metrics"]["by_class"]["fact"].update({"answer_acc": 0.5}),
    "a number as text": lambda made: made["metrics"]["overall"].update({"n": "91"}),
    "an invented class": lambda made: made["metrics"]["by_class"].update({"easy": {}}),
    "an invented number": lambda made: made["metrics"]["overall"].update({"precision": 1.0}),
    "an extra": lambda made: made["extras"]["overall"].update({"mrr": 1.0}),
    "a count of old values": lambda made: made["extras"]["temporal"].update({"current": 7}),
    "no extras": lambda made: made.pop("extras"),
    "a dropped question": lambda made: made["per_question"].pop(),
    "a doubled question": lambda made: made["per_question"].append(made["per_question"][0]),
    "a question for another": lambda made: made["per_question"][0].update({"id": "q002"}),
    "another vault": lambda made: made.update({"vault_sha256": "0" * 64}),
    "other questions": lambda made: made.update({"questions_sha256": "0" * 64}),
    "another form": lambda made: made.update({"schema": "memory-bench/result@2"}),
    "an invented quote": _invent,
    "an empty quote": lambda made: made["per_question"][0].update({"citations": cite(("a", ""))}),
    "a padded list": lambda made: made["per_question"][0].update({"retrieved": ["home"] * 51}),
    "too many quotes": lambda made: made["per_question"][0].update(
        {"citations": cite(*[("home", "Larkfield Lab")] * 6)}
    ),
    "no list": lambda made: made.update({"per_question": {}}),
}


@pytest.mark.parametrize("forge", FORGERIES.values(), ids=FORGERIES.keys())
def test_a_forged_result_is_found_out(
    forge: Forgery, committed: dict[str, Any], test_set: TestSet
) -> None:
    made = copy.deepcopy(committed)
    assert result.faults(made, test_set) == []
    forge(made)
    assert result.faults(made, test_set) != []


def test_copied_gold_is_found_by_the_numbers_it_does_not_change(
    committed: dict[str, Any], test_set: TestSet
) -> None:
    made = copy.deepcopy(committed)
    _answer(made, test_set)
    assert any("answer_acc" in one for one in result.faults(made, test_set))
    made |= result.scored(score(test_set, made["per_question"]))
    assert result.faults(made, test_set) == []
    assert len(result.differences(made, committed)) > 60


@pytest.mark.parametrize("quote", ["Words that stand in no note at all", " "])
def test_an_invented_quote_is_found_even_when_every_number_fits(
    quote: str, committed: dict[str, Any], test_set: TestSet
) -> None:
    made = copy.deepcopy(committed)
    made["per_question"][0]["citations"] = cite(("home", quote))
    made |= result.scored(score(test_set, made["per_question"]))
    assert result.faults(made, test_set) == [
        f"{made['per_question'][0]['id']}: a quote does not stand in home"
    ]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("retrieved", ["home"]),
        ("answer", "another"),
        ("citations", []),
        ("history", None),
        ("not_current", ["home"]),
    ],
)
def test_a_rerun_that_differs_in_one_question_names_it(
    key: str, value: object, committed: dict[str, Any]
) -> None:
    assert result.differences(committed, committed) == []
    made = copy.deepcopy(committed)
    made["per_question"][7] |= {key: value, "sec": 99.0}
    found = result.differences(committed, made)
    assert len(found) == 1
    assert found[0].startswith(f"{made['per_question'][7]['id']}: {key}")


def test_rescoring_from_the_shell_says_whether_a_file_holds(
    tmp_path: Path, committed: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    good, bad = tmp_path / "good.json", tmp_path / "bad.json"
    result.write(committed, good)
    result.write(committed | {"vault_sha256": "0"}, bad)
    assert main(["--rescore", str(good)]) == 0
    assert main(["--rescore", str(bad)]) == 1
    said = capsys.readouterr().err
    assert "good.json: holds" in said
    assert "vault_sha256 is '0'" in said
    assert json.loads(good.read_text("utf-8")) == committed


# -- the adapter's rules -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "question",
    [
        "What was the port originally?",
        "Which date was set at first?",
        "What did the team plan initially?",
        "Who owned it before it was moved to another team?",
        "What was the previous limit?",
        "Which value used to be the default?",
    ],
)
def test_wording_about_what_held_before_asks_for_history(question: str) -> None:
    assert asks_for_history(question)


@pytest.mark.parametrize(
    "question",
    [
        "What is the current deadline?",
        "Which tool is used to build the site?",
        "Who should sign before the release?",
        "When was the tool first released?",
        "What are the initials of the head?",
        "What does the format of the file say?",
    ],
)
def test_wording_about_what_holds_does_not_ask_for_history(question: str) -> None:
    assert not asks_for_history(question)


@pytest.mark.parametrize(
    ("text", "quote"),
    [
        ("whole [[a|A]] text", "whole [[a|A]] text"),
        ("…more text…", "more text"),
        ("…|Label]] and [[b|B]] then [[tool-lo…", "and [[b|B]] then"),
        ("…one [[b|B]…", "one"),
        ("…one [[b|B]] [", "one [[b|B]] ["),
        ("…a list [x] and more…", "a list [x] and more"),
        ("…", ""),
    ],
)
def test_a_quote_is_a_passage_without_the_marks_and_halves_of_a_cut(text: str, quote: str) -> None:
    assert quote_of(text) == quote


def test_links_are_unfolded_and_white_space_is_one_space() -> None:
    assert unfolded(" a\n\n[[t|the  T]] [[u]] b ") == "a the T u b"


# -- tunings -----------------------------------------------------------------------------------


def test_fields_of_the_tuning_are_set_by_name() -> None:
    assert changed("links=false, late=off") == changed("late=0,links=False")
    assert not changed("links=false").links
    assert changed("links=false").late
    assert changed("") == DEFAULT


@pytest.mark.parametrize("text", ["nothing=1", "links", "links=maybe"])
def test_a_change_that_is_none_says_what_is_legal(text: str) -> None:
    with pytest.raises(ValueError, match=r"the names are|is none"):
        changed(text)


def test_a_wrong_change_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["--set", "nothing=1"])
    assert stopped.value.code == 2
    assert "the names are lexical" in capsys.readouterr().err


def test_an_ablation_turns_every_switch_over_once() -> None:
    rows = single_changes(["links=false,late=false", "links=false"])
    assert next(iter(rows)) == "default"
    assert len(rows) == len(switched_off()) + 2
    assert all(tuning != DEFAULT for name, tuning in rows.items() if name != "default")
