"""Checks the built site: each link has a target, and each page can be reached by links."""

from __future__ import annotations

import posixpath
import zlib
from collections.abc import Iterable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

FIRST = "index.html"
#: Pages that Sphinx generates; links to them are not required.
MACHINE_MADE = ("genindex.html", "py-modindex.html", "search.html")


class Page(HTMLParser):
    """The links and anchors of a page, and the scripts, images and styles of other sites."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.fetched: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collects links, anchors and fetched addresses."""
        named = {name: value for name, value in attrs if value}
        if "id" in named:
            self.anchors.add(named["id"])
        if tag == "a" and "href" in named:
            self.links.append(named["href"])
        source = named.get("href") if tag == "link" else named.get("src")
        if source is None or (tag == "link" and "stylesheet" not in named.get("rel", "")):
            return
        (self.fetched if urlsplit(source).netloc else self.links).append(source)


def faults(site: Path, names: Iterable[str]) -> list[str]:
    """The faults of a site, one line each."""
    pages = {
        path.relative_to(site).as_posix(): Page(path.read_text()) for path in site.rglob("*.html")
    }
    found = [fault for name, page in pages.items() for fault in _of_page(site, pages, name, page)]
    found += [f"{name}: no page leads there" for name in sorted(pages.keys() - _reached(pages))]
    documented = _documented(site / "objects.inv")
    found += [
        f"farroot.{name} has no page" for name in names if f"farroot.{name}" not in documented
    ]
    return found


def _of_page(site: Path, pages: dict[str, Page], name: str, page: Page) -> Iterator[str]:
    for source in page.fetched:
        yield f"{name}: {source} is fetched from elsewhere"
    for link in page.links:
        where = _local(name, link)
        if where is None:
            continue
        path, anchor = where
        if not (site / path).exists():
            yield f"{name}: {link} is not there"
        elif anchor and path in pages and anchor not in pages[path].anchors:
            yield f"{name}: {link}: that page has no such anchor"


def _local(name: str, link: str) -> tuple[str, str] | None:
    """The file and the anchor to which a link leads; None for links to other sites."""
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return None
    folder, path = posixpath.dirname(name), unquote(parts.path)
    path = posixpath.join(folder, path) if path else name
    return posixpath.normpath(path), unquote(parts.fragment)


def _reached(pages: dict[str, Page]) -> set[str]:
    """The pages that can be reached by links from the first."""
    reached, ahead = set(MACHINE_MADE), [FIRST]
    while ahead:
        name = ahead.pop()
        if name in reached or name not in pages:
            continue
        reached.add(name)
        ahead += [where[0] for link in pages[name].links if (where := _local(name, link))]
    return reached


def _documented(inventory: Path) -> set[str]:
    """The full names that have a page, from the inventory that Sphinx writes."""
    # Four lines of text; then, compressed, a line a name: name, kind, priority, address, title.
    *_, packed = inventory.read_bytes().split(b"\n", 4)
    lines = (line.split(" ") for line in zlib.decompress(packed).decode().splitlines())
    return {line[0] for line in lines if line[1].startswith("py:")}
