"""What all tools share: output, processes, the tree and its version."""
