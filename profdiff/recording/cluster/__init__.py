"""Guests on the nodes of a Dask cluster: a scheduler and its workers (docs/clusters.md)."""
