"""Manifests that follow from other files: CRDs and the single-file install."""
