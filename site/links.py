"""What a built site lacks: pages and places that its links lead to, and what it would fetch."""

from __future__ import annotations

from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

FETCHED = {"script": "src", "img": "src", "source": "src", "iframe": "src", "link": "href"}
# Links of a head that name a page and fetch nothing.
NAMED = {"canonical", "next", "prev", "index", "search", "author"}


class _Page(HTMLParser):
    """The links and places of one page, and what a browser fetches to show it."""

    def __init__(self, path: Path):
        super().__init__()
        self.links: set[str] = set()
        self.places: set[str] = {""}
        self.fetched: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.places |= {found[name] for name in ("id", "name") if name in found}
        if tag == "a" and "href" in found:
            self.links.add(found["href"])
        if FETCHED.get(tag) in found and found.get("rel") not in NAMED:
            self.fetched.add(found[FETCHED[tag]])


def problems(site: Path) -> list[str]:
    """A sentence for each link inside the site that leads nowhere, and for each thing from
    elsewhere that a page would fetch."""
    pages = {path: _Page(path) for path in sorted(site.rglob("*.html"))}
    return [f"{path.relative_to(site)}: {said}" for path in pages for said in _wrong(path, pages)]


def _wrong(path: Path, pages: dict[Path, _Page]) -> Iterator[str]:
    page = pages[path]
    for link in sorted(page.links | page.fetched):
        address = urlsplit(link)
        if address.scheme == "data":
            continue
        if address.scheme or address.netloc:
            if link in page.fetched:
                yield f"{link} is fetched from elsewhere"
            continue
        target = path
        if address.path:
            target = (path.parent / unquote(address.path)).resolve()
        if not target.is_file():
            yield f"{link} is no file of the site"
        elif target in pages and unquote(address.fragment) not in pages[target].places:
            yield f"{link} is no place of its page"
