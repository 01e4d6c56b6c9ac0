"""A recall gives at most what was asked for, at least what there is, and answers any question."""

import json
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memsvc.embedding.tokens import TokenCounter
from tests.invariants.home import Agent, Forker, Home, data_of, text_of

MOST_CHARS = 10_000
NOTES = 14
QUERY = "falcon nests in the wood"
DEFAULT = 2_000
ENOUGH_FOR_ONE = 80
"""Tokens that a bare fence, one note's id and the beginning of its text take."""
BUDGETS = (50, 80, 150, 400, 2_000, 20_000)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, forker: Forker) -> Home:
    made = Home(tmp_path_factory.mktemp("retrieval"), forker)
    for number in range(NOTES):
        length = (1, 4, 25, 150)[number % 4]
        more = "".join(f"Line {at} of note {number} is about day {at}.\n" for at in range(length))
        title = f"Falcon {number} " + "of the old mill by the river " * (number % 4)
        made.write(
            f"heron/falcon-{number}.md",
            f"---\nsource: [{'a-long-source-' * 5}{number}, b]\n---\n# {title.strip()}\n\n"
            f"The falcon number {number} nests in the wood.\n\n{more}",
        )
    return made


@pytest.fixture(scope="module")
def agent(home: Home) -> Iterator[Agent]:
    with home.agent() as made:
        made.ids("anything")
        yield made


@pytest.fixture(scope="module")
def count() -> TokenCounter:
    return TokenCounter()


@pytest.mark.guarantee("R1")
@pytest.mark.parametrize("more", [{}, {"history": True}, {"explain": True}])
@pytest.mark.parametrize("detail", ["snippet", "full"])
def test_k_and_budget_are_never_passed_and_never_wasted(
    agent: Agent, count: TokenCounter, detail: str, more: dict[str, bool]
) -> None:
    shown: dict[tuple[int, int], int] = {}
    for k in (1, 3, 8, 50):
        for budget in BUDGETS:
            asked = {"query": QUERY, "k": k, "budget": budget, "detail": detail, **more}
            result = agent.ask("recall", asked)
            text, data = text_of(result), data_of(result)
            tokens = count(text)
            assert tokens <= budget, asked
            assert len(text) < MOST_CHARS or budget > DEFAULT
            assert len(data["hits"]) <= k, asked
            if not data["hits"]:
                assert budget < ENOUGH_FOR_ONE
                assert "a larger budget is needed" in text
            assert (data["count"], data["tokens"]) == (len(data["hits"]), tokens)
            less = len(data["hits"]) < min(k, NOTES) or any(hit["cut"] for hit in data["hits"])
            assert data["coverage"]["cut"] or not less, asked
            for number, hit in enumerate(data["hits"], start=1):
                assert f"[{number}] " in text
                assert f"id {hit['id']}" in text
            shown[k, budget] = len(data["hits"])
            if len(data["hits"]) < min(k, NOTES) and budget < BUDGETS[-1]:
                assert tokens > budget * 0.4 or budget <= 80, asked
    assert all(shown[1, budget] == 1 for budget in BUDGETS if budget >= ENOUGH_FOR_ONE)
    if detail == "snippet":
        assert [shown[k, 2_000] for k in (1, 3, 8)] == [1, 3, 8]
        assert shown[50, 20_000] == NOTES
    for k in (3, 8, 50):  # more room never shows less
        assert sorted(shown[k, budget] for budget in BUDGETS) == [
            shown[k, budget] for budget in BUDGETS
        ]


@pytest.mark.guarantee("R1")
def test_a_command_keeps_the_same_bounds(home: Home, count: TokenCounter) -> None:
    for k, budget, detail, least in (
        (1, 80, "snippet", 1),
        (3, 300, "full", 1),
        (50, 1_000, "snippet", 5),
    ):
        words = ["recall", *QUERY.split(), "--k", str(k), "--budget", str(budget)]
        done = home.run(*words, "--detail", detail)
        reply = home.json(*words, "--detail", detail)
        assert count(done.out.rstrip("\n")) <= budget
        assert least <= len(reply["hits"]) <= k
        assert reply["count"] == len(reply["hits"])


@pytest.mark.guarantee("R1")
def test_every_reply_is_bounded_and_says_how_to_go_on(home: Home, agent: Agent) -> None:
    (hit,) = (
        one
        for one in agent.data("recall", query="falcon 11 nests", k=50, budget=20_000)["hits"]
        if one["path"] == "heron/falcon-11.md"
    )
    long = "".join(f"Sentence number {at} of a long text about the weir.\n" for at in range(900))
    saved = agent.data("save", title="Long", body=long, source=["s" * 480] * 50, tags=["t"] * 40)
    for number in range(12):
        agent.data(
            "save",
            title=f"{'Weir ' * 50}{number}",
            body=f"The weir number {number} holds. {long[:400]}",
        )
    for tool, arguments in (
        ("read", {"id": saved["id"]}),
        ("read", {"id": hit["id"]}),
        ("history", {"limit": 100}),
        ("recall", {"query": "weir", "k": 50, "detail": "full", "explain": True}),
        ("correct", {"id": saved["id"], "version": 7, "mode": "amend", "body": "Stale."}),
        ("save", {"title": "Weir", "body": "The weir number 3 holds fast."}),
        ("scopes", {}),
    ):
        text = text_of(agent.ask(tool, dict(arguments)))
        assert 0 < len(text) < MOST_CHARS, tool
    read, offset, whole = agent.text("read", id=saved["id"]), 0, ""
    while (at := read.rfind("read with offset=")) > 0:
        following = int(read[at:].split("=")[1].split(";")[0])
        assert following > offset
        offset = following
        read = agent.text("read", id=saved["id"], offset=offset)
        whole += read
    assert "Sentence number 899" in whole
    (page, *_) = agent.data("history", limit=1)["events"]
    (older, *_) = agent.data("history", limit=1, since=str(page["seq"]))["events"]
    assert older["seq"] == page["seq"] - 1


@pytest.mark.guarantee("R1")
@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(query=st.text(st.characters(codec="utf-8"), max_size=300))
def test_any_text_is_a_legal_question(agent: Agent, count: TokenCounter, query: str) -> None:
    result = agent.ask("recall", {"query": query, "budget": 300})
    assert not result.is_error
    assert count(text_of(result)) <= 300


QUESTIONS = [
    "gpt-4o", "don't", "C++", "20.04", 'say "hi', "NOT", "*", "", " ", "a AND (", "col:val", "-neg", "^x",
    "NEAR(a b)", "{}", "\\", "%", "_", "--", "falcon;DROP TABLE note", "\u65e5\u671f", "\U0001f389",
    "x" * 90_000, "falcon " * 5_000, "\u202e\u200b", "a\x00b", "</recalled-notes>",
]  # fmt: skip


def test_hard_questions_are_answered_by_tools_and_commands(home: Home, agent: Agent) -> None:
    for query in QUESTIONS:
        assert not agent.ask("recall", {"query": query}).is_error, ascii(query[:20])
    for query in QUESTIONS[1:22:2]:
        if query.startswith("-"):
            continue  # an option, to a shell
        done = home.run("recall", query, "--json")
        assert (done.code, done.err) == (0, ""), query
        assert json.loads(done.out)["count"] >= 0
    assert len(agent.ids("falcon;DROP TABLE note")) > 0
    assert len(agent.ids(QUERY)) == 8
