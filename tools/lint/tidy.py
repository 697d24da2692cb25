"""clang-tidy on many files: in parallel, and not again on what was clean and has not changed. One file takes
six seconds or more, nearly all of it for the headers of libraries, and three times that with the static
analyzer.

    python3 tools/lint/tidy.py --build build/tidy --cache FOLDER [--analyze] [--seconds N] FILE...
"""

import argparse
import concurrent.futures
import functools
import hashlib
import os
import re
import subprocess
import sys
import time

TIDY = "clang-tidy-14"
INCLUDE = re.compile(r'^\s*#include\s+"([^"]+)"', re.MULTILINE)


@functools.lru_cache(maxsize=None)
def text_of(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def closure(path):
    """The file and our files that it includes, directly or not: include paths start at lib, at the root, or beside it."""
    seen, waiting = set(), [path]
    while waiting:
        one = waiting.pop()
        if one in seen:
            continue
        seen.add(one)
        for name in INCLUDE.findall(text_of(one)):
            waiting += [there for there in (os.path.join("lib", name), name, os.path.join(os.path.dirname(one), name)) if os.path.isfile(there)]
    return sorted(seen)


def key_of(path, version):
    """A key of everything that its findings depend on, except the libraries' headers."""
    total = hashlib.sha256(version + b"".join(text_of(one).encode() for one in (".clang-tidy", "tests/.clang-tidy")))
    for one in closure(path):
        total.update(one.encode() + b"\0" + text_of(one).encode() + b"\0")
    return total.hexdigest()


def look_at(path, build, analyze):
    checks = [] if analyze else ["--checks=-clang-analyzer-*"]
    done = subprocess.run(["nice", TIDY, "-p", build, "--quiet", *checks, path], capture_output=True, text=True)
    return path, done.returncode, done.stdout + (done.stderr if done.returncode else "")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--cache", required=True, help="folder of the files' keys that were clean")
    parser.add_argument("--analyze", action="store_true", help="with the checks of the static analyzer")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no further file after that")
    parser.add_argument("files", nargs="*")
    arguments = parser.parse_args()
    os.makedirs(arguments.cache, exist_ok=True)
    version = subprocess.run([TIDY, "--version"], capture_output=True, check=True).stdout
    analyzed = {path: os.path.join(arguments.cache, key_of(path, version)) for path in arguments.files}
    keys = analyzed if arguments.analyze else {path: f"{key}-quick" for path, key in analyzed.items()}
    due = [path for path in arguments.files if not any(map(os.path.exists, (analyzed[path], keys[path])))]
    print(f"   {len(due)} of {len(arguments.files)} files to look at, the others were clean before", flush=True)
    begin, bad, left = time.monotonic(), [], []

    def one(path):
        return look_at(path, arguments.build, arguments.analyze) if time.monotonic() - begin < arguments.seconds else (path, None, "")

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for number, (path, status, text) in enumerate(pool.map(one, due), 1):
            if status is None:
                left.append(path)
            elif status == 0:
                open(keys[path], "w").close()
            else:
                bad.append(path)
                print(text, flush=True)
            if number % 20 == 0:
                print(f"   ... {number} of {len(due)}, {time.monotonic() - begin:.0f} s", flush=True)
    if left:
        print(f"   {len(left)} files not looked at: the {arguments.seconds:g} s are over (make lint ARGS=--analyze takes all)")
    if bad:
        print(f"   findings in {len(bad)} files: {' '.join(bad)}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
