"""What every text is checked for before it is written, and what of a note is a statement."""

import pytest

from memsvc.errors import InvalidInput, MemsvcError, RecalledText, RejectedClaim, SecretFound
from memsvc.ledger.records import TombstoneRecord
from memsvc.model.vocabulary import ProjectSlug, VaultName
from memsvc.scope.vault_policy import VaultPolicy
from memsvc.service.gateway import checks
from memsvc.service.gateway.checks import MAX_ITEMS, MAX_LINE, MAX_TITLE

SECRET = "key AKIA" + "Z3MHALJ5RZQ6KP2D"
FENCE = "<recalled-notes>"
LAX = VaultPolicy(secrets=False)
SHORT = VaultPolicy(max_note=100)


def refused(title: str, body: str, rules: VaultPolicy = VaultPolicy()) -> MemsvcError | None:  # noqa: B008
    try:
        checks.check_note_text(title, body, rules)
    except MemsvcError as error:
        return error
    return None


@pytest.mark.parametrize(
    ("title", "body", "argument"),
    [
        (" ", "text", "title"),
        ("t", "\n", "body"),
        ("t\nu", "text", "title"),
        ("t\ru", "text", "title"),
        ("x" * (MAX_TITLE + 1), "text", "title"),
        ("t\x00", "text", "title"),
        ("t", "text\x00", "body"),
        ("t\udc80", "text", "title"),
        ("t", "text\udc80", "body"),
        ("t", "a <private>b</private>", "body"),
        ("t <PRIVATE>", "text", "body"),
    ],
)
def test_a_text_that_no_note_may_have_is_refused(title: str, body: str, argument: str) -> None:
    error = refused(title, body)
    assert isinstance(error, InvalidInput)
    assert error.data["argument"] == argument
    assert refused("x" * MAX_TITLE, "text\r\n\r\ntext") is None


def test_a_body_is_as_long_as_the_policy_lets_it() -> None:
    assert refused("t", "word " * 20, SHORT) is None
    error = refused("t", "word " * 20 + ".", SHORT)
    assert isinstance(error, InvalidInput)
    assert error.data["argument"] == "body"
    assert refused("t", "word " * 20 + ".") is None
    assert checks.find_violation("t", "word " * 20, SHORT) == ""
    assert checks.find_violation("t", "word " * 20 + ".", SHORT) == checks.TOO_LONG
    beyond = "word " * 200_001
    assert checks.find_violation("t", beyond) == "", "a file that nobody forbade is kept"
    assert isinstance(refused("t", beyond), InvalidInput), "a note that is saved has an end"
    assert checks.find_violation("t", "word " * 21, SHORT, size=100) == ""
    assert checks.find_violation("t", "word", SHORT, size=101) == checks.TOO_LONG


@pytest.mark.parametrize(
    ("problem", "error", "words"),
    [
        (checks.TOO_LONG, InvalidInput, "max_note"),
        (checks.PRIVATE, InvalidInput, "private"),
        ("recalled_text", RecalledText, "recall reply"),
        ("a rule", SecretFound, "a rule"),
    ],
)
def test_what_a_text_breaks_is_refused_in_its_own_words(
    problem: str, error: type[MemsvcError], words: str
) -> None:
    with pytest.raises(error, match=words):
        checks.refuse_violation(problem)
    checks.refuse_violation("")


@pytest.mark.guarantee("R2")
@pytest.mark.parametrize(
    "body",
    [FENCE, "a </recalled-notes> b", "< RECALLED_notes x=1>", "＜recalled-notes＞", "﹤recalled-notes﹥", "<recalled notes",
     "<rec\u200balled-notes>", "<rec\u034falled-notes>", "＜ ﹤ <recalled-notes>"],
)  # fmt: skip
def test_a_recalled_reply_is_no_memory(body: str) -> None:
    assert checks.find_violation("t", body) == "recalled_text"
    assert isinstance(refused("t", body), RecalledText)
    assert refused("t", "the recalled-notes element, a < b, <b>recalled notes</b>") is None


def test_a_secret_is_refused_wherever_it_stands_unless_the_policy_says_otherwise() -> None:
    for title, body in ((SECRET, "text"), ("t", SECRET)):
        error = refused(title, body)
        assert isinstance(error, SecretFound)
        assert checks.find_violation(title, body) == error.data["rule"] != ""
        assert "Z3MHALJ5" not in str(error)
        assert refused(title, body, LAX) is None
    with pytest.raises(SecretFound):
        checks.check_lines(tags=["fine", SECRET])
    checks.check_lines(LAX, tags=["fine", SECRET])


@pytest.mark.parametrize(
    "value",
    ["x" * (MAX_LINE + 1), "a\nb", "a\rb", "a\x00", ["fine"] * (MAX_ITEMS + 1), ["a\udc80"]],
)
def test_lines_are_single_and_few(value: str | list[str]) -> None:
    with pytest.raises(InvalidInput) as error:
        checks.check_lines(reason="fine", source=value)
    assert error.value.data["argument"] == "source"
    checks.check_lines(reason="x" * MAX_LINE, source=["fine"] * MAX_ITEMS, tags="")


@pytest.mark.guarantee("C1")
def test_every_claim_the_title_and_the_whole_are_statements_once_each() -> None:
    body = "The release moved to 12 March. Tea.\n\n- The release moved to 12 March"
    found = checks.statements("Release day is fixed", body)
    by_normal = {one.normal: one for one in found}
    assert len(by_normal) == len(found)
    release = by_normal["the release moved to 12 march"]
    assert (release.kind, release.counts) == ("sentence", True)
    assert release.text == "The release moved to 12 March."
    title = by_normal["release day is fixed"]
    assert (title.kind, title.counts, title.text) == ("title", True, "Release day is fixed")
    assert by_normal["tea"].counts is False
    (whole,) = (one for one in found if one.kind == "whole")
    assert (whole.counts, whole.text) == (True, "")


def test_the_whole_counts_where_it_is_too_short_to_count_as_a_sentence() -> None:
    (one,) = (one for one in checks.statements("Drinks", "Tea.") if one.normal == "tea")
    assert (one.kind, one.counts, one.text) == ("sentence", True, "Tea.")


@pytest.mark.guarantee("C1")
def test_the_sentences_of_a_title_are_looked_up_and_never_rejected_by_it() -> None:
    found = {one.normal: one for one in checks.statements("Tea. The gate opens at 12", "Text.")}
    assert found["tea the gate opens at 12"].counts is True
    assert (found["the gate opens at 12"].kind, found["the gate opens at 12"].counts) == (
        "title",
        False,
    )


def test_another_reading_of_a_text_is_a_statement_that_is_never_rejected_by_itself() -> None:
    seen = {one.normal: one.counts for one in checks.statements("t", "The \u04c0ist has 12 names")}
    assert seen.pop("the list has 12 names") is False
    assert True in seen.values()
    plain = [one.normal for one in checks.statements("t", "The list has 12 names")]
    assert plain.count("the list has 12 names") == 1
    titled = {one.normal: one.counts for one in checks.statements("The \u04c0ist of names", "Text")}
    assert titled["the list of names"] is False


def test_only_what_a_new_text_adds_is_introduced_and_sources_are_read_too() -> None:
    old = checks.statements("t", "One bird is a heron. Two birds are ospreys.")
    new = checks.statements("t", "Two birds are ospreys. Three birds are terns.")
    added = {one.normal for one in checks.introduced(new, old)}
    assert "3 birds are terns" in added or "three birds are terns" in added
    assert "two birds are ospreys" not in added
    sources = {one.normal for one in checks.sourced(["Four birds are gulls", "x"])}
    assert {"four birds are gulls", "x"} <= sources
    assert "" not in sources, "a line has no title"


def test_a_second_reading_is_looked_up_and_never_rejected_by_itself() -> None:
    found = {one.normal: one.counts for one in checks.statements("t", "12. March is the day of it")}
    assert found["march is the day of it"] is False
    assert found["12 march is the day of it"] is True


def test_a_rejected_claim_is_refused_with_what_a_person_needs_to_lift_it() -> None:
    first, second = (
        TombstoneRecord(
            tombstone_id=f"T{number}", vault=VaultName("v"), project=ProjectSlug("p"), key_id="k",
            digest="d", claim_kind="sentence", note_id="N1", version=1, at="2026-11-30T10:04:11Z",
            actor="human:alice", reason=reason, event_seq=1,
        )
        for number, reason in ((1, "not so"), (2, ""))
    )  # fmt: skip
    checks.refuse_rejected([])
    with pytest.raises(RejectedClaim, match=r"by human:alice\. Do not .*lift T1") as one:
        checks.refuse_rejected([first, second])
    assert (one.value.data["tombstone"], one.value.data["count"]) == ("T1", 2)
    assert one.value.data["reason"] == "not so"
    assert "not so" not in str(one.value), "it is stored text"
    with pytest.raises(RejectedClaim, match=r"by human:alice\. Do not .*lift T2"):
        checks.refuse_rejected([second])
