"""Pictures of the pages about rows: who takes which part."""

from __future__ import annotations

from tritonbook.seeing.pictures_norms import draw_schemes

from .test_pictures import texts


def test_every_scheme_names_its_programs():
    # Kills: scheme 3 numbering by column alone (programs 4 to 7 would be missing).
    found = texts(draw_schemes())
    assert found.count("7") == 1 and found.count("3") == 1
    assert found.count("0") == 1 + 4 + 1 + 4  # a row, four tiles, a piece, four rows
