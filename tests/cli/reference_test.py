#!/usr/bin/env python3
"""Does docs/reference/cli.md say what --help says, and is the file of `submit --help` a valid job? Run by ctest (cli_reference_test), or by hand:

    python3 tests/cli/reference_test.py build/dev/bin/nervexctl            # compares
    python3 tests/cli/reference_test.py build/dev/bin/nervexctl renew      # writes the page's second part
"""

import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PAGE = os.path.join(ROOT, "docs", "reference", "cli.md")
MARK = "<!-- from here on: nervexctl --help, by tests/cli/reference_test.py -->\n"


def check_small_file(nervexctl):
    said = subprocess.run([nervexctl, "submit", "--help"], capture_output=True, text=True, check=True).stdout
    job = said.partition("A small file:\n")[2]
    checked = subprocess.run([nervexctl, "validate", "-f", "-"], input=job, capture_output=True, text=True)
    if checked.returncode != 0 or "warning" in checked.stdout:
        sys.exit(f"the file of submit --help: {checked.stdout}{checked.stderr}")


def main():
    nervexctl, *options = sys.argv[1:]
    check_small_file(nervexctl)
    generated = subprocess.run([nervexctl, "__reference"], capture_output=True, text=True, check=True).stdout
    with open(PAGE, encoding="utf-8") as file:
        written, mark, rest = file.read().partition(MARK)
    if not mark:
        sys.exit(f"{PAGE} lacks the line: {MARK}")
    if options == ["renew"]:
        with open(PAGE, "w", encoding="utf-8") as file:
            file.write(written + MARK + "\n" + generated.rstrip("\n") + "\n")
    elif rest.strip() != generated.strip():
        sys.exit("docs/reference/cli.md differs from nervexctl --help: renew it as this file's first lines say")


if __name__ == "__main__":
    main()
