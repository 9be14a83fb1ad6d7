"""Manifests of earlier schemas, read as today's."""
