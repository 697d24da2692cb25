"""Clusters for tests and the demo: what scripts/up, scripts/down and the end-to-end tests share."""
