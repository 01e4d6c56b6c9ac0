"""What keeps two statements apart that a vector takes for the same."""

import pytest

from memsvc.service.gateway.guard.meaning import differing, replaced, saying


@pytest.mark.parametrize(
    ("one", "other", "why"),
    [
        ("Due on 3 March.", "Due on 12 March.", "number"),
        ("It seats twelve people.", "It seats 20 people.", "number"),
        ("We met Ana Petrova at noon.", "We met Ana Dubois at noon.", "name"),
        ("Call get_user now.", "Call get_users now.", "name"),
        ("The door is red.", "The door is blue.", "value"),
        ("It runs.", "It doesn't run.", "polarity"),
        ("The door is open.", "The door is closed.", "polarity"),
        ("It is reachable.", "It is unreachable.", "polarity"),
        ("The boat went from Ana to Bo.", "The boat went from Bo to Ana.", "order"),
        ("We sent it to Ana again.", "We sent it to everyone again.", "name"),
        ("It weighs 3 kg.", "It weighs a lot.", "number"),
        ("NATO 5.", "Ana 5.", "name"),
        ("Deploy v2 now.", "Deploy v3 now.", "name"),
        ("Call getUser now.", "Call getUsers now.", "name"),
        ("NATO decides this today.", "Congress decides this today.", "name"),
        ("The host is reachable.", "This box is unreachable.", "polarity"),
        ("The lamp is used.", "The lamp is unused.", "polarity"),
        ("Ask Ana Bo for help.", "Ask Ana Cy for help.", "name"),
    ],
)
def test_numbers_names_values_polarity_and_order_keep_apart(one: str, other: str, why: str) -> None:
    assert differing(saying(one), saying(other)) == why
    assert differing(saying(other), saying(one)) == why
    assert differing(saying(one), saying(one)) == ""


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("It seats twelve people.", "There are 12 seats."),
        ("Due March 12th.", "On 12 March it is due."),
        ("1,200 came.", "There came 1200."),
        ("Dogs are not allowed.", "Dogs are forbidden."),
        ("Heron's port is known.", "We know the port of Heron."),
        ("RELEASE MOVED TO MAY", "The release moved to may"),
        ("OPEN DOOR 12 13 14 15", "Unlocked door 12 13 14 15"),
        ("That is what I want.", "That is what we want."),
        ("A door is red.", "The door is red."),
        ("Turn on the light.", "Turn on or off the light."),
        ("It leads to town.", "It leads into town."),
        ("We write it.", "We rewrite it."),
        ('The lamp is "lit". Dogs bark.', 'Hounds bark where the lamp is "lit".'),
        ("It rose by +5 degrees.", "By 5 degrees it rose."),
        ("They print in 3D.", "They print 3d things."),
        ("The SHOP's Opening Is In May", "It opens in may."),
        ("The SHOP’s Opening Is In May", "It opens in may."),
    ],
)
def test_the_same_facts_in_another_form_are_the_same(one: str, other: str) -> None:
    assert differing(saying(one), saying(other)) == ""
    assert differing(saying(other), saying(one)) == ""


def test_one_word_in_the_place_of_another_is_named() -> None:
    assert replaced(saying("It lives in memory."), saying("It lives on disk.")) == (
        "memory",
        "disk",
    )
    assert replaced(saying("It lives in memory."), saying("In memory it lives.")) is None
    assert replaced(saying("It never lives in 3 seas."), saying("It lives in four lakes.")) == (
        "seas",
        "lakes",
    )
    assert replaced(saying("It already lives in memory."), saying("It usually lives on disk.")) == (
        "memory",
        "disk",
    )
