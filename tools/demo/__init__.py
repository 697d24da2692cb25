"""`make demo` and `make demo-node`: what a user sees of the suite, told and checked."""
