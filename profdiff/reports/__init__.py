"""Reports: a comparison rendered as text, JSON, CSV or HTML."""
