"""Terms: the same on both sides, for identifiers, inflections, accents and scripts without spaces."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsvc.index.analyse import MAX_QUERY_TERMS, MAX_TERM, document_terms, query_terms
from memsvc.index.dates import dates
from memsvc.index.stems import stem


def finds(query: str, text: str) -> bool:
    return set(query_terms(query)) <= set(document_terms(text)) and bool(query_terms(query))


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("gpt-4o", "we use gpt-4o here"),
        ("4o", "we use gpt-4o here"),
        ("gpt", "we use GPT-4o here"),
        ("C++", "written in C++."),
        ("20.04", "Ubuntu 20.04 LTS"),
        ("node.js", "Node.js 22"),
        ("js", "Node.js 22"),
        ("foo_bar", "call foo_bar()"),
        ("bar", "call foo_bar()"),
        ("instant", "parseInstant(text)"),
        ("parseInstant", "parseInstant(text)"),
        ("clock.py", "see src/memsvc/clock.py"),
        ("memsvc", "see src/memsvc/clock.py"),
        ("deploying", "it was deployed"),
        ("releases", "one release"),
        ("cafe", "the café"),
        ("CAFÉ", "the cafe"),
        ("O'Reilly", "an OReilly book"),
        ("ueberm", "über'm Hafen"),
        ("Rautio's desk", "desk of Rautio"),
        ("ｇｐｔ", "gpt"),
        ("截止日期", "项目的截止日期是七月九日"),
        ("日期", "项目的截止日期是七月九日"),
        ("七", "项目的截止日期是七月九日"),
        ("日", "项目的截止日期是七月九日"),
        ("締め切り", "プロジェクトの締め切りは7月9日です"),
        ("마감", "프로젝트 마감일은 7월 9일입니다"),
        ("กำหนด", "กำหนดส่งโครงการ"),
        ("срок", "Срок проекта"),
        ("🚀", "launch 🚀 day"),
        ("हिन्दी", "यह हिन्दी है"),
        ("gpt4o", "we use gpt-4o here"),
        ("nodejs", "Node.js 22"),
        ("email", "the e-mail of the team"),
        ("1.2.3", "since v1.2.3 it works"),
        ("HER-123", "see HER-123 for it"),
        ("123", "see HER-123 for it"),
        ("alice@example.com", "write to alice@example.com."),
        ("example.com", "write to alice@example.com."),
        ("example.com/docs/install", "at https://example.com/docs/install?x=1#top"),
        ("install", "at https://example.com/docs/install?x=1#top"),
        ("server", "the HTTPServer class"),
        ("C:\\temp\\log.txt", "in C:\\temp\\log.txt"),
        ("Mueller", "Frau Müller"),
        ("Müller", "Frau MÜLLER"),
        ("Strasse", "die Straße"),
        ("Lodz", "the office in Łódź"),
        ("Malmo", "the office in Malmø"),
        ("сроки", "о сроках проекта"),
        ("новый сервер", "на новом сервере"),
        ("كتاب", "كِتَاب"),
        ("ｻｰﾊﾞｰ", "サーバーの名前"),
        ("サーバー", "ｻｰﾊﾞｰの名前"),
        ("売り上げ", "今月の売り上げ報告"),
        ("東京タワー", "東京タワーの近く"),
        ("人々", "人々の声"),
        ("프로젝트", "프로젝트를 시작했다"),
        ("marsh", "the host is called m\u00adar\u200bsh"),
        ("fa\u200clcon", "the falcon nests"),
    ],
)
def test_a_query_finds_the_text_that_says_it(query: str, text: str) -> None:
    assert finds(query, text)
    assert not finds(query, "an unrelated sentence about nothing")


@pytest.mark.parametrize(
    ("query", "text"), [("C++", "written in C"), ("20.04", "version 20.10"), ("截止", "停止截取")]
)
def test_a_query_does_not_find_what_only_looks_like_it(query: str, text: str) -> None:
    assert not finds(query, text)
    assert finds(query, f"{text} {query}")


SAME_DAY = [
    "2026-03-12", "2026/3/12", "2026.03.12", "12 March 2026", "12th of March 2026", "March 12, 2026", "Mar. 12th, 2026",
    "12-Mar-2026", "12.03.2026", "12. 3. 2026", "12. März 2026", "le 12 mars 2026", "12 de marzo de 2026", "12 maart 2026",
    "2026年3月12日",
]  # fmt: skip


@pytest.mark.parametrize("written", SAME_DAY)
def test_a_day_is_one_term_however_it_is_written(written: str) -> None:
    assert "2026-03-12" in document_terms(f"Due {written}.")
    assert "2026-03-12" in query_terms(f"due {written}")
    assert "2026-03-12" not in document_terms(f"Due {written.replace('2026', '2027')}.")


@pytest.mark.parametrize(
    "written",
    ["03/12/2026", "12 March", "March 2026", "2026-03-32", "31.02.2026", "1.12.03.2026", "12 Marching 2026",
     "2026-03-123", "v2026-03-12"],
)  # fmt: skip
def test_what_is_no_certain_day_is_none(written: str) -> None:
    assert dates(written) == []
    assert dates(f"{written} and 2026-03-12") == ["2026-03-12"]


def test_other_writings_of_a_name_do_not_swallow_numbers() -> None:
    assert "2004" not in document_terms("Ubuntu 20.04")
    assert "20260312" not in document_terms("2026-03-12")
    assert not finds("2004", "Ubuntu 20.04")
    assert finds("20.04", "Ubuntu 20.04")


def test_stop_words_and_marks_alone_ask_for_nothing() -> None:
    for query in ("", "*", "NOT", "what is the", "don't", '"', "\x00", "\ud800", " \n "):
        assert query_terms(query) == []
    assert query_terms("what is the heron") == ["heron"]


@given(st.text(alphabet=st.characters(exclude_categories=()), max_size=300))
def test_terms_of_any_text_hold_no_blank_and_no_quote(text: str) -> None:
    for term in (*document_terms(text), *query_terms(text)):
        assert term
        assert not any(one in term for one in ' "\x00\n\t\r')
        term.encode("utf-8")
    assert len(query_terms(text)) <= MAX_QUERY_TERMS


@given(st.text(max_size=80))
def test_what_is_asked_is_found_in_the_same_text(text: str) -> None:
    assert set(query_terms(text)) <= set(document_terms(text))


@pytest.mark.parametrize(
    "unit", ["a", "a-", "aB", "项", "a\u0301", "_", "'", "a ", "ä", "а", "2026-", "12 mar ", "v1."]
)
def test_a_long_hostile_text_is_analysed_in_linear_time(unit: str) -> None:
    begun = time.process_time()
    terms = document_terms(unit * (1_000_000 // len(unit)))
    assert time.process_time() - begun < 8
    assert all(len(term) <= 4 * MAX_TERM for term in terms[:100])
    assert len(query_terms(unit * 50_000)) <= MAX_QUERY_TERMS


def test_stems_join_inflections_and_keep_other_words_apart() -> None:
    for group in (("deploy", "deploys", "deployed", "deploying"), ("plan", "planned", "planning")):
        assert len({stem(word) for word in group}) == 1
    assert stem("ties") == stem("tie")
    for apart in (("news", "new"), ("bus", "bu"), ("process", "proces"), ("ring", "r")):
        assert stem(apart[0]) != stem(apart[1])
