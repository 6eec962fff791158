"""The picture of the dispatcher's floors."""

import pytest

from tritonbook.seeing.pictures_operators import draw_floors


def test_floors_stand_in_the_order_of_a_call():
    """Kills: floors upside down; a text for screen readers that says less than the picture."""
    picture = draw_floors("Down", [("Autograd", "notes", "you"), ("CUDA", "computes", "a < b")])
    assert picture.svg.index("Autograd") < picture.svg.index("CUDA")
    assert "a &lt; b" in picture.svg and "a < b" not in picture.svg
    for words in ("Autograd", "notes", "you", "CUDA", "computes"):
        assert words in picture.text


def test_a_house_without_floors_is_refused():
    """Kills: an empty card where a picture should be."""
    with pytest.raises(ValueError, match="at least one"):
        draw_floors("Down", [])
