"""Two changes of one text: the regions are the texts, and only true clashes are marked."""

from hypothesis import given
from hypothesis import strategies as st

from memsvc.notes.threeway import merged, three_way

LINES = st.lists(st.sampled_from(["a", "b", "c", ""]), max_size=8)


@given(base=LINES, ours=LINES, theirs=LINES)
def test_the_regions_joined_are_each_of_the_texts(
    base: list[str], ours: list[str], theirs: list[str]
) -> None:
    texts = ["\n".join(lines) for lines in (base, ours, theirs)]
    regions = three_way(*texts)
    for name, text in zip(("base", "ours", "theirs"), texts, strict=True):
        assert [line for one in regions for line in getattr(one, name)] == text.splitlines()


@given(base=LINES, ours=LINES)
def test_one_change_alone_is_taken_without_a_clash(base: list[str], ours: list[str]) -> None:
    before, after = "\n".join(base), "\n".join(ours)
    wanted = "\n".join(after.splitlines())
    assert merged(three_way(before, after, before)) == (wanted, 0)
    assert merged(three_way(before, before, after)) == (wanted, 0)
    assert merged(three_way(before, after, after)) == (wanted, 0)


def test_changes_of_different_lines_go_together_and_of_the_same_line_clash() -> None:
    base = "one\ntwo\nthree\nfour\nfive"
    text, clashes = merged(three_way(base, base.replace("one", "1"), base.replace("five", "5")))
    assert (text, clashes) == ("1\ntwo\nthree\nfour\n5", 0)
    text, clashes = merged(three_way(base, base.replace("two", "2"), base.replace("two", "II")))
    assert clashes == 1
    assert [one.kind for one in three_way(base, base.replace("two", "2"), base)] == [
        "same", "ours", "same",
    ]  # fmt: skip
    assert text.splitlines()[1:9] == [
        "<<<<<<< committed", "2", "||||||| before", "two", "=======", "II", ">>>>>>> file", "three",
    ]  # fmt: skip


def test_a_text_of_very_many_lines_is_compared_as_a_whole() -> None:
    base = "\n".join(str(number) for number in range(5_000))
    (region,) = three_way(base, f"{base}\nmore", f"less\n{base}")
    assert region.kind == "conflict"
