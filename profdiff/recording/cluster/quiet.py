"""Dask's log: what concerns a recording is told in the recorder's own lines."""

import logging


def quiet() -> None:
    """Keep Dask from writing to standard error."""
    import distributed  # noqa: F401  # sets levels when it is loaded

    for name in list(logging.root.manager.loggerDict):
        if name.partition(".")[0] in ("distributed", "tornado", "bokeh", "asyncio"):
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)
