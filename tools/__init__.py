"""What builds and runs clusters, nodes, images and releases; see README.md."""
