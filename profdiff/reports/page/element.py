"""What an element of a page holds: compressed, in base64, which has no character that could end the
element. No time of compression: the same recording makes the same page."""

import base64
import gzip


def packed(text: bytes) -> str:
    """What ``templates/page/packed.js`` unpacks."""
    return base64.b64encode(gzip.compress(text, compresslevel=6, mtime=0)).decode()


def element(name: str, text: bytes) -> str:
    """A script element, which no browser executes; ``name``: its id."""
    return f'<script id="{name}" type="application/octet-stream">{packed(text)}</script>\n'
