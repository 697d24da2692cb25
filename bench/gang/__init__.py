"""Gangs that start, ours beside those of others, on one control plane (scripts/bench --gang)."""
