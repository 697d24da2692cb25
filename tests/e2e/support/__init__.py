"""What the end-to-end tests share. The fixtures are in conftest.py."""
