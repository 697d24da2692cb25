"""Static checks of the sources."""
