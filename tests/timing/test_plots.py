"""Plots must be readable by everyone: a text alternative, no reliance on colour, own background."""

import html
import io
import re
import warnings

import numpy as np
import pytest
from matplotlib.image import imread
from matplotlib.text import Text

from tritonbook import words
from tritonbook.timing import Ceilings, plots
from tritonbook.timing.result import BenchResult, Row, Sweep

PEAKS = Ceilings("Paper GPU", 1000.0, 100.0, "2026-01-01")


def result(**changes):
    rows = [Row("eager", 2.0, 1.9, 2.2, gbps=200.0), Row("triton", 0.5, 0.48, 0.6, gbps=800.0)]
    given = {"clock": "scripted", "on_gpu": True, "title": "GELU", "baseline": "eager"}
    return BenchResult(
        rows=rows, **{**given, "bytes": 4e8, "flops": 1e8, "peaks": PEAKS, **changes}
    )


def test_bars_say_in_words_what_they_show():
    plot = result().plot()
    assert "eager 2.00 ms" in plot.alt and "triton 0.500 ms" in plot.alt and "GELU" in plot.alt
    data, metadata = plot._repr_mimebundle_()
    assert f'alt="{html.escape(plot.alt)}"' in data["text/html"]
    assert data["text/plain"] == plot.alt and metadata["image/png"]["alt"] == plot.alt


DRAWN = {
    "bars": lambda: result().plot(),
    "lines": lambda: Sweep("rows", [1, 2], [result(), result()], "two sizes").plot(),
    "roofline": lambda: plots.roofline({"copy": (1e9, 1e8, 2.0)}, PEAKS),
}


@pytest.mark.parametrize("name", DRAWN)
def test_a_chinese_plot_has_no_boxes(name, monkeypatch):
    """Kills: a character that no font has; English where there is a font, Chinese where none is."""
    with words.speaking("zh"), warnings.catch_warnings():
        warnings.filterwarnings("error", "Glyph .* missing")
        if plots.chinese_font():
            plot = DRAWN[name]()
            assert plot.png() and re.search("[\u4e00-\u9fff]", _drawn(plot))
        monkeypatch.setattr(plots, "chinese_font", lambda: None)
        plot = DRAWN[name]()
        assert plot.png() and not re.search("[\u4e00-\u9fff]", _drawn(plot))
        assert re.search("[\u4e00-\u9fff]", plot.alt)


def test_a_font_that_came_after_the_list_is_found(monkeypatch):
    """Kills: English plots for whoever installs a font once the first plot was drawn."""
    if not plots.chinese_font():
        pytest.skip("no font with Chinese characters on this machine")
    manager = plots.font_manager.fontManager
    files = {font.fname for font in manager.ttflist if font.name in plots.FONTS.split("|")}
    old = [font for font in manager.ttflist if font.fname not in files]
    monkeypatch.setattr(manager, "ttflist", old)
    assert plots.chinese_font.__wrapped__()


def _drawn(plot):
    return "\n".join(text.get_text() for text in plot.figure.findobj(Text))


def test_bars_say_their_time_in_three_digits():
    """Kills: "3 ms" beside "2.98 ms", which looks like a guess."""
    said = [text.get_text() for text in result().plot().figure.axes[0].texts]
    assert "  2.00 ms  (1.00x)" in said and "  0.500 ms  (4.00x)" in said
    rows = [Row("slow", 123.4, 123.0, 124.0)]
    said = BenchResult(rows=rows, clock="scripted", on_gpu=True).plot().figure.axes[0].texts
    assert said[0].get_text() == "  123 ms"


def test_bars_differ_by_hatch_and_have_their_own_background():
    # Kills: bars told apart by colour alone; a transparent figure on a dark page.
    figure = result().plot().figure
    bars = figure.axes[0].patches
    assert len({bar.get_hatch() for bar in bars}) == len(bars) == 2
    pixels = imread(io.BytesIO(result().plot().png()))
    assert pixels[..., 3].min() == 1.0 and pixels[2, 2, :3].min() > 0.9


def test_neighbouring_colours_differ_in_grey():
    def grey(colour):
        red, green, blue = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
        return 0.299 * red + 0.587 * green + 0.114 * blue

    greys = [grey(colour) for colour in plots.COLOURS]
    assert min(abs(a - b) for a, b in zip(greys, greys[1:], strict=False)) > 0.08


def test_lines_differ_by_marker_and_dash():
    sweep = Sweep("width", [64, 4096], [result(), result()], "By width")
    plot = sweep.plot("gbps")
    drawn = [line for line in plot.figure.axes[0].lines if line.get_marker() != "None"]
    assert len({(line.get_marker(), line.get_linestyle()) for line in drawn}) == len(drawn) == 2
    assert "GB/s over width 64 to 4096" in plot.alt


def test_an_unknown_metric_is_named():
    with pytest.raises(ValueError, match="metric 'speed' is not one of gbps"):
        Sweep("width", [64], [result()]).plot("speed")


def test_a_sweep_of_the_interpreter_shows_milliseconds_only():
    sweep = Sweep("width", [64, 128], [result(on_gpu=False, peaks=None)] * 2, "By width")
    assert sweep.plot("gbps").figure.axes[0].get_ylabel() == "milliseconds"


def test_roofline_bends_at_the_ridge():
    plot = plots.roofline({"gelu": (4e8, 1e8, 0.5)}, PEAKS)
    xs, ys = plot.figure.axes[0].lines[0].get_data()
    assert np.isclose(xs[1], 100.0) and np.isclose(ys[1], 100.0)
    assert "0.25 operations per byte reaches 0.2 TFLOP/s" in plot.alt
