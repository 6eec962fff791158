"""Page 12: its map, and the model that its check takes times from."""

from __future__ import annotations

import math
import statistics

import pytest

from tritonbook.course.exercises import load
from tritonbook.course.page_checks import load_cases, pictures

PAGE = "12_rmsnorm_choose"


@pytest.fixture(scope="module")
def draw():
    return pictures(PAGE)


@pytest.fixture(scope="module")
def cases():
    return load_cases(PAGE)


@pytest.fixture
def regimes(draw):
    rows = (
        {"M": 8, "N": 64, "us": {"row": 1.04, "split": 4.0, "multirow": 1.0}},
        {"M": 1, "N": 99_999, "us": {"loop": 10.0, "split": 2.0}},
    )
    return draw.Regimes("a test", rows)


def test_a_tie_is_drawn_as_a_tie(draw, regimes):
    # Kills: scheme 4 called the winner where scheme 1 is 4 % behind.
    assert draw.tied({"row": 1.04, "loop": 1.06, "multirow": 1.0}) == ["row", "multirow"]
    plot = regimes.plot()
    assert "scheme 1 = scheme 4: 8x64" in repr(plot) and "scheme 3: 1x99999" in repr(plot)
    assert plot.png().startswith(b"\x89PNG")


def test_the_table_marks_the_best(regimes):
    # Kills: a star at the slowest, a time for a scheme that cannot run.
    head, short, long, note = regimes.table([(8, 64), (1, 99_999)]).splitlines()
    assert short.split() == ["8", "64", "1.04*", "-", "4.00", "1.00*"]
    assert long.split() == ["1", "99,999", "-", "10.0", "2.00*", "-"]
    with pytest.raises(KeyError, match="not measured"):
        regimes.of(2, 2)


def test_a_map_can_be_kept_and_read_again(draw, regimes, tmp_path, monkeypatch):
    regimes.save(tmp_path / draw.STORED)
    monkeypatch.setattr(draw, "DIRECTORY", tmp_path)
    assert draw.stored_regimes() == regimes


def test_the_stored_map_says_where_it_was_measured(draw):
    stored = draw.stored_regimes()
    assert "H100" in stored.where and len(stored.rows) >= 40
    assert all(min(row["us"].values()) > 0 for row in stored.rows)
    assert all("multirow" not in row["us"] for row in stored.rows if row["N"] > 512)
    assert all("loop" not in row["us"] for row in stored.rows if row["N"] <= 8192)


def test_the_map_has_the_sizes_that_the_page_prints(draw):
    # Kills: a size in the page's table that a map measured here lacks.
    wanted = {(1 << 20, 64), (16384, 256), (16384, 1024), (256, 64), (4, 4096), (4, 16384)}
    wanted |= {(4, 65536), (64, 262144), (4096, 16384), (1024, 32768), (1024, 65536)}
    wanted.add((256, 262144))
    assert wanted <= set(draw.sizes())
    assert (64, 32768) in draw.sizes() and (1 << 20, 1024) not in draw.sizes()


def test_the_model_is_the_map(draw, cases):
    """Kills: a check that grades by times which nobody measured."""
    apart, regret = [], []
    for row in draw.stored_regimes().rows:
        M, N, us = row["M"], row["N"], row["us"]
        model = {s: cases.time_us(s, M, N) for s in us}
        apart += [abs(math.log(model[s] / us[s])) for s in us]
        regret.append(us[min(model, key=model.get)] / min(us.values()))
    assert math.exp(statistics.median(apart)) < 1.08
    assert math.exp(statistics.quantiles(apart, n=10)[-1]) < 1.2
    assert max(regret) < 1.15


def test_a_split_row_that_gains_nothing_is_not_asked_about_idle_sms(cases):
    """Kills: a question that leads to the choice that was just refused."""
    with pytest.raises(AssertionError) as found:
        cases._good_choice(lambda *size: "split", 64, 32768, 132, {"row": 4.0, "split": 4.0})
    assert str(found.value).endswith("a scheme with one launch is as fast.")


def test_sizes_of_the_check_lie_clear_of_the_border(cases):
    # Kills: a size where as many rows as half or four times the SMs decide between right and wrong.
    for M, N, num_sms in cases.SEEN + cases.UNSEEN:
        if N > 16384:
            assert not 0.5 < M / num_sms < 4, (M, N, num_sms)
    assert not {(M, N) for M, N, _ in cases.SEEN} & {(M, N) for M, N, _ in cases.UNSEEN}


@pytest.mark.parametrize(("M", "N"), [(1, 1), (8, 262_144), (100, 70_000), (0, 64), (1, 20_000)])
def test_pieces_of_the_dispatcher_fit_a_program(M, N):
    # Kills: a piece that no program holds, no piece at all.
    pieces = load(PAGE).splits_for(M, N, 132)
    assert pieces >= 1 and -(-N // pieces) <= 8192
