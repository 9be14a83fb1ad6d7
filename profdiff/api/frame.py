"""A report in a notebook."""

from html import escape

# A notebook keeps what it shows: a larger page would make the file slow to open.
_MOST = 16 * 2**20


def framed(title: str, page: str, text: str) -> str:
    """A page in a frame that can run its scripts and reach nothing of the notebook; where it is
    larger than 16 MiB, the report's ``text`` instead."""
    if len(page) > _MOST:
        told = f"The page is too large for a notebook ({len(page) / 2**20:,.0f} MiB): see html()."
        return f"<p>{told}</p><pre>{escape(text)}</pre>"
    return (
        f'<iframe sandbox="allow-scripts" title="{escape(title)}" srcdoc="{escape(page)}" '
        'style="width: 100%; height: 40em; border: 0"></iframe>'
    )
