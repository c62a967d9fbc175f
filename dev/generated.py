"""The part of a page that `make pages` writes, between two comments."""

_BEGIN = "<!-- what follows is made by `make pages` from {} -->\n"
_END = "<!-- down to here -->\n"


def with_generated(page: str, source: str, text: str) -> str:
    """Returns `page` with `text` as the part that is made from `source`. Raises ValueError without such a part."""
    begin = _BEGIN.format(source)
    before, rest = page.split(begin)
    _, after = rest.split(_END, maxsplit=1)
    return f"{before}{begin}\n{text}\n{_END}{after}"
