#!/usr/bin/env python3
"""shells_test.py NERVEXCTL: what the scripts of `nervexctl completion` complete, in the shells themselves."""

import os
import pty
import select
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAM = os.path.abspath(sys.argv.pop(1))
SECONDS = 60  # a deadline, for busy machines
# What is typed, and words that must be offered for it.
CASES = [("nervexctl susp", {"suspend"}),
         ("nervexctl re", {"replicas", "resume"}),
         ("nervexctl list --so", {"--sort"}),
         ("nervexctl completion ", {"bash", "zsh", "fish"})]


def environment():
    home = tempfile.mkdtemp()
    return {**os.environ, "PATH": f"{os.path.dirname(PROGRAM)}:{os.environ['PATH']}", "HOME": home, "TERM": "dumb",
            "KUBECONFIG": os.path.join(home, "none")}


def run(*words):
    done = subprocess.run(words, capture_output=True, text=True, timeout=SECONDS, env=environment(), check=True)
    return set(done.stdout.split())


class InTerminal:
    """A shell that thinks a person types."""

    def __init__(self, *words):
        pid, self._terminal = pty.fork()
        if pid == 0:
            os.execvpe(words[0], words, environment())
        self._pid = pid

    def type(self, text):
        os.write(self._terminal, text.encode())

    def read_until(self, *wanted):
        """All that was written, once it has each of these texts."""
        seen, deadline = "", time.monotonic() + SECONDS
        while not all(one in seen for one in wanted):
            ready, _, _ = select.select([self._terminal], [], [], deadline - time.monotonic())
            if not ready:
                raise AssertionError(f"no {wanted} in {seen!r}")
            seen += os.read(self._terminal, 4096).decode(errors="replace").replace("\a", "")
        return seen

    def close(self):
        os.close(self._terminal)
        os.waitpid(self._pid, 0)


class Completion(unittest.TestCase):
    def test_bash(self):
        for typed, offered in CASES:
            words = typed.split(" ")
            quoted = " ".join(f"'{word}'" for word in words)
            self.assertLessEqual(offered, run("bash", "--norc", "-c", f"""
                source <(nervexctl completion bash)
                COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}
                _nervexctl
                printf '%s\\n' "${{COMPREPLY[@]}}" """), typed)

    @unittest.skipUnless(shutil.which("fish"), "fish is not installed")
    def test_fish(self):
        for typed, offered in CASES:
            self.assertLessEqual(offered, run("fish", "--no-config", "-c", f"""
                nervexctl completion fish | source
                complete -C '{typed}' """), typed)

    @unittest.skipUnless(shutil.which("zsh"), "zsh is not installed")
    def test_zsh(self):
        for typed, offered in CASES:
            shell = InTerminal("zsh", "-f", "-i")
            try:
                shell.type("autoload -U compinit && compinit -u -D && source <(nervexctl completion zsh)\n")
                shell.type("echo re''ady\n")
                shell.read_until("ready")
                shell.type(typed + "\t\t")
                shell.read_until(*offered)
            finally:
                shell.close()


if __name__ == "__main__":
    unittest.main()
