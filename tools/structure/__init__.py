"""What the sources look like: include cycles, sizes, words."""
