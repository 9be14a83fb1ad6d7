"""What an element of a page holds: compressed, in base64, which has no character that could end the
element. No time of compression: the same recording makes the same page."""

import base64
import gzip


def compressed(text: bytes) -> bytes:
    """What a page holds of a text, before base64."""
    return gzip.compress(text, compresslevel=6, mtime=0)


def packed(text: bytes) -> str:
    """What ``templates/page/packed.js`` unpacks."""
    return base64.b64encode(compressed(text)).decode()


def element(name: str, text: bytes) -> str:
    """A script element, which no browser executes; ``name``: its id."""
    return held(name, compressed(text))


def held(name: str, data: bytes) -> str:
    """The same of what ``compressed`` made."""
    text = base64.b64encode(data).decode()
    return f'<script id="{name}" type="application/octet-stream">{text}</script>\n'
