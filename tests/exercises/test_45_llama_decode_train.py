"""Decoding against the whole layer, the way back against page 44's layer, and the small Llama."""

import matplotlib
import pytest
import torch

from tritonbook import DEVICE
from tritonbook.checking import case
from tritonbook.course.exercises import get, load
from tritonbook.course.page_checks import load_cases, pictures
from tritonbook.timing import stored

PAGE = get("45_llama_decode_train")
MODULE = load(PAGE)


def arguments(B, L, **sizes):
    """One call's arguments of a layer, drawn and on the device."""
    specs = load_cases("44_llama_block").block_arguments(B, L, **sizes)
    drawn = {name: t.to(DEVICE) for name, t in case("", **specs).sample().items()}
    return [drawn.get(name, value) for name, value in specs.items()]


def examples(*, until):
    """Run the worked cells that belong together, up to the one that holds `until`."""
    names = dict(vars(MODULE))
    for cell in PAGE.cells:
        if cell.kind == "code" and cell.role is None and "pictures(" not in cell.source:
            exec(cell.source, names)
        if until in cell.source:
            return names
    raise AssertionError(f"no cell holds {until!r}")


@pytest.mark.parametrize("way", ["train", 1, 3, 6])
def test_training_and_steps_give_page_44s_layer(way):
    """Kills: a training path, or a decode step after so many tokens at once, that drifts away from
    the layer that the model is used as."""
    given = arguments(2, 6, heads=3, kv_heads=1)
    whole = load(get("44_llama_block")).llama_block(*given)
    got = MODULE.llama_train(*given) if way == "train" else MODULE.llama_decode(*given, way)
    torch.testing.assert_close(got, whole, rtol=1e-4, atol=1e-5)


def test_a_small_llama_learns_on_either_set_of_operators():
    """Kills: a model whose two trainings do not start alike, a loss that does not fall, a twin
    that is not PyTorch's, and text that no decode step wrote."""
    names = examples(until="def generate")
    ours, torchs = names["ours"], names["torchs"]
    assert ours[0] == pytest.approx(torch.tensor(256.0).log().item(), rel=1e-4)
    assert ours == pytest.approx(torchs, rel=1e-3)
    assert names["unseen"] < ours[0]  # the steps' own losses are of few bytes each, and jump
    assert names["sample"].startswith("One program") and len(names["sample"]) > 11
    assert f"{ours[-1]:.3f}" in names["said"]
    kept = names["text"][-10_000:]
    assert bytes(kept.tolist()).decode(errors="replace")[-1000:] == names["prose"][-1000:]


@pytest.mark.parametrize("is_kept", [False, True])
def test_a_reader_without_a_gpu_sees_the_kept_curve(is_kept, tmp_path, monkeypatch, capsys):
    """Kills: a page that fails before the first GPU has run it, or that shows nothing after."""
    if DEVICE == "cuda":
        pytest.skip("here the page draws its own")
    matplotlib.use("agg")
    monkeypatch.setattr(stored, "DIRECTORY", tmp_path)
    if is_kept:
        monkeypatch.setenv("TRITONBOOK_STORE_BENCH", str(tmp_path))
        stored.keep(
            "llama_training", stored.Curves({"your kernels": [5.5], "torch": [5.5]}, "Rows.")
        )
    names = dict(vars(MODULE))
    (cell,) = [cell for cell in PAGE.cells if 'load("llama_training")' in cell.source]
    exec(cell.source, names)
    said = capsys.readouterr().out
    assert ("another machine" in said and "Rows." in said) is is_kept
    assert ("No curve of a GPU is kept yet" in said) is not is_kept


@pytest.mark.gpu
def test_twenty_calls_of_all_gradients_agree_to_the_bit():
    """Kills: atomics in one of the ways back."""
    given = arguments(2, 300, D=256, F=320, heads=4, kv_heads=2, size=64)
    dy = torch.randn_like(given[0])
    first = MODULE.layer_gradients(given[0], dy, *given[1:])
    for _ in range(20):
        again = MODULE.layer_gradients(given[0], dy, *given[1:])
        assert all(torch.equal(one, want) for one, want in zip(again, first, strict=True))


def test_the_picture_shows_what_is_kept_written_and_free():
    picture = pictures(PAGE).draw_cache(filled=2, room=4)
    assert picture.svg.count(">k<") == picture.svg.count(">v<") == 3
    assert picture.svg.count('fill="url(#tb-masked)"') == 3  # twice, and in the legend
    assert "first 3" in picture.text
