"""`make demo`, `make demo-node` and `make demo-training`: what a user sees of the suite, told and checked."""
