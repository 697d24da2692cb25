"""The Kubernetes programs of tests and demo, built from source."""
