"""Where this checkout and its cache are, and which commit it is of."""

import os
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def cache():
    """What is expensive to make and not part of the tree lives below this folder. As in tools/base/lib.sh."""
    return os.environ.get("NERVEX_CACHE") or os.path.join(
        os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "nervex")


def git(*arguments):
    return subprocess.run(["git", "-c", f"safe.directory={ROOT}", "-C", ROOT, *arguments], capture_output=True, text=True)


def _ask_git(*arguments):
    done = git(*arguments)
    return done.stdout.strip() if done.returncode == 0 else None


def revision():
    """The commit, with "-dirty" if a tracked file differs; "unknown" outside of a checkout."""
    commit = _ask_git("rev-parse", "HEAD")
    if not commit:
        return "unknown"
    return commit + ("-dirty" if _ask_git("status", "--porcelain", "--untracked-files=no") else "")


def epoch():
    """SOURCE_DATE_EPOCH (reproducible-builds.org), else the time of the commit, else 1970."""
    return int(os.environ.get("SOURCE_DATE_EPOCH") or _ask_git("log", "-1", "--format=%ct") or 0)
