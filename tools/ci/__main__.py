"""The end of .ci/run: gives failed end-to-end tests a second try, counts, and says what failed.

    python3 -m tools.ci PART...    the parts that failed, of: test, lint, test-asan-pure

The last line is "<n> passed, <n> failed"; the status says the same. At most two failed end-to-end tests run again,
alone. Not one that was changed since NERVEX_CI_SINCE (default HEAD~50; no second try without that history), and not
one that found a broken invariant: tools/ci/second_try.py."""

import glob
import os
import sys

from tools.base.console import say
from tools.base.tree import ROOT
from tools.ci.failures import count, failed_tests
from tools.ci.second_try import refuse, run_alone

REPORTS = os.path.join(ROOT, "build", "reports")
END_TO_END = os.path.join(REPORTS, "e2e.xml")


def read_parts():
    """The parts of `make test` that failed; none if it ended early."""
    try:
        with open(os.path.join(REPORTS, "failed"), encoding="utf-8") as file:
            return file.read().split("\n")[:-1]
    except OSError:
        return []


def try_again():
    """(what to say of the failed tests, did all of them pass?)."""
    failures = failed_tests(END_TO_END) if os.path.exists(END_TO_END) else []
    why = refuse(read_parts(), failures, os.environ.get("NERVEX_CI_SINCE") or "HEAD~50")
    if why:
        return [f"no second try: {why}"], False
    passed = [run_alone(one, os.path.join(ROOT, "build", f"second-try-{index}.xml")) for index, one in enumerate(failures)]
    said = [f"second try, alone: {one.node_id}: {'passed' if ok else 'FAILED again'}"
            for one, ok in zip(failures, passed)]
    return said, all(passed)


def main(failed):
    tests = bad = 0
    said, passed_alone = [], False
    if "test" in failed:
        said, passed_alone = try_again()
        if passed_alone:
            failed = [part for part in failed if part != "test"]
    for path in glob.glob(os.path.join(REPORTS, "*.xml")):
        its_tests, its_bad = count(path)
        is_excused = passed_alone and path == END_TO_END
        tests, bad = tests + its_tests, bad + (0 if is_excused else its_bad)
    tests, bad = tests + 1, bad + ("lint" in failed)
    if failed and not bad:  # a part that ended before its tests has counted none
        tests, bad = tests + 1, 1
    say()
    for line in said + [f"make {part}: FAILED" for part in failed]:
        say(line)
    say(f"{tests - bad} passed, {bad} failed")
    return 0 if not failed and not bad else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
