"""The site in a browser: on a phone, a laptop and a wide screen, light and dark, by keys."""

from __future__ import annotations

import pytest
from site_sample import SLUGS, built

from .conftest import OUT

pytest.importorskip("sphinx", reason="Sphinx 9 needs Python 3.11")
PAGES = ("index", f"notebooks/{SLUGS[1]}", f"notebooks/{SLUGS[2]}", "causes", "causes/4", "names")
LOOKS = [(390, "light"), (390, "dark"), (1280, "light"), (1280, "dark"), (1920, "light")]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    return built(tmp_path_factory.mktemp("site"))


@pytest.fixture
def screen(chromium, request):
    """A page of the wanted width and colours, whose requests are noted."""
    width, scheme = getattr(request, "param", (1280, "light"))
    context = chromium.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme, reduced_motion="reduce"
    )
    opened = context.new_page()
    opened.asked = []
    opened.on("request", lambda request: opened.asked.append(request.url))
    opened.look = f"{width}_{scheme}"
    yield opened
    context.close()


@pytest.mark.parametrize("screen", LOOKS, indirect=True, ids=lambda look: f"{look[0]}_{look[1]}")
def test_everybody_can_read_it(screen, site):
    """Kills: pale words, parts without names, what no key reaches; a page wider than its screen;
    a script, font or picture from elsewhere."""
    from axe_playwright_python.sync_playwright import Axe

    OUT.mkdir(exist_ok=True)
    for name in PAGES:
        screen.goto((site / f"{name}.html").as_uri())
        for button in screen.locator("button.unfold").all():
            button.click()
        screen.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
        screen.wait_for_timeout(1500)  # folds fade in
        found = Axe().run(screen).response["violations"]
        serious = [
            (each["id"], [node["html"] for node in each["nodes"]][:3])
            for each in found
            if each["impact"] in ("serious", "critical")
        ]
        assert not serious, name
        assert screen.evaluate("document.documentElement.scrollWidth <= innerWidth"), name
        screen.screenshot(path=OUT / f"site_{name.replace('/', '_')}_{screen.look}.png")
    assert not [url for url in screen.asked if not url.startswith(("file:", "data:"))]


@pytest.mark.parametrize("screen", [(390, "light")], indirect=True)
def test_keys_reach_folds_and_the_list_of_pages(screen, site):
    """Kills: a fold that only a mouse opens; a focus that goes where nobody sees it."""
    screen.goto((site / "notebooks" / f"{SLUGS[1]}.html").as_uri())
    reached = set()
    for _ in range(80):
        screen.keyboard.press("Tab")
        screen.wait_for_timeout(10)
        focus = screen.evaluate_handle("document.activeElement")
        box = focus.bounding_box()
        words = focus.evaluate("each => each.innerText || each.ariaLabel || each.placeholder")
        assert box and box["width"] > 1 and box["x"] >= 0, words
        reached.add(words.strip())
        if words.strip() == "The answer":
            break
    assert {"41. Flash attention", "Open in Colab", "Hint 1: a question"} - reached == {
        "Hint 1: a question"
    }
    screen.keyboard.press("Enter")
    assert focus.evaluate("each => each.parentElement.open")


def test_one_button_opens_all_folds(screen, site):
    screen.goto((site / "notebooks" / f"{SLUGS[2]}.html").as_uri())
    button = screen.locator("button.unfold")
    assert button.inner_text() == "Show answers and outputs"
    button.click()
    folds = "[...document.querySelectorAll('div.cell details.hide')].map(each => each.open)"
    assert set(screen.evaluate(folds)) == {True}
    assert button.inner_text() == "Hide answers and outputs"
    button.click()
    assert set(screen.evaluate(folds)) == {False}


def test_the_map_shows_what_a_page_needs(screen, site):
    screen.goto((site / "index.html").as_uri())
    screen.locator(f'.map a[data-page="{SLUGS[1]}"]').focus()
    near = "[...document.querySelectorAll('.map path.near')].map(each => each.dataset.from)"
    assert screen.evaluate(near) == [SLUGS[0]]


@pytest.mark.parametrize(("where", "words"), [("", "tl.exp2"), ("zh/", "向量加法")])
def test_search_finds_the_page(screen, site, where, words):
    screen.goto((site / f"{where}search.html").as_uri() + f"?q={words}")
    first = screen.locator("ul.search li a").first
    wanted = SLUGS[1] if where else SLUGS[2]
    assert wanted in " ".join(
        each.get_attribute("href") for each in screen.locator("ul.search li a").all()
    ) or wanted in (first.get_attribute("href") or "")
