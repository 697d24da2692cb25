"""What a demo prints: chapters, the commands that it runs, and claims, each checked when it is made."""

import subprocess

from tools.base.console import Failure, say
from tools.base.tree import ROOT


class Account:
    """Prints what it does, in chapters, and checks each claim as it is printed."""

    def __init__(self, environment, prefix=()):
        self.chapter_number = 0
        self.checks = 0
        self.environment = environment
        self._prefix = list(prefix)  # of every command, and not shown

    def chapter(self, title):
        self.chapter_number += 1
        say(f"\n== {self.chapter_number}. {title}")

    def check(self, holds, claim, seen=""):
        if not holds:
            raise Failure(f"not so: {claim}" + (f"; seen: {seen}" if seen != "" else ""))
        self.checks += 1
        say(f"   ok: {claim}")

    def run(self, *command, expect_failure=False):
        """Shows a command as a user would type it, and its output."""
        say(f"$ {' '.join(command)}")
        done = subprocess.run([*self._prefix, *command], env=self.environment, cwd=ROOT, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120)
        for line in done.stdout.rstrip().splitlines():
            say(f"  {line}")
        if expect_failure == (done.returncode == 0):
            raise Failure(f"'{' '.join(command)}' ended with status {done.returncode}")
        return done.stdout
