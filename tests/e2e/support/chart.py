"""charts/nervex as users render it with helm."""

import functools
import json
import os
import re
import shutil
import subprocess

from tools.base.tree import ROOT
from tools.cluster import manifests
from tools.controlplane import binaries

CHART = os.path.join(ROOT, "charts", "nervex")


def helm(*arguments, values=None, env=None):
    """`values`: a dict, given to helm on standard input."""
    with_values = [] if values is None else ["--values", "-"]
    return subprocess.run([binaries.helm(), *arguments, *with_values], env=env and {**os.environ, **env},
                          input=None if values is None else json.dumps(values), capture_output=True, text=True)


def copy_with_webhook_at(url, folder):
    """A copy of the chart whose webhook configurations name an address instead of a Service."""
    shutil.copytree(CHART, folder, ignore=shutil.ignore_patterns("variants", "nervex-manager.yaml"))
    for name in ("mutating", "validating"):
        path = os.path.join(folder, "files", "manifests", "webhook", f"{name}.yaml")
        with open(path, encoding="utf-8") as file:
            text, changed = re.subn(r"^    service:\n(?:      .*\n)*?      path: (.*)\n(?:      .*\n)*", rf"    url: {url}\1\n",
                                    file.read(), flags=re.MULTILINE)
        assert changed == 1, name
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    return folder


def template(values=None, *arguments, chart=CHART, namespace="nervex-system"):
    version = () if "--kube-version" in arguments else ("--kube-version", binaries.kubernetes_version())
    return helm("template", "nervex", chart, "--namespace", namespace, *version, *arguments, values=values or {})


@functools.lru_cache(maxsize=None)
def _rendered(values, arguments, chart):
    done = template(json.loads(values), *arguments, chart=chart)
    assert done.returncode == 0, done.stderr
    return done.stdout


def render_text(values=None, *arguments, chart=CHART):
    """What helm makes of the chart with these values."""
    return _rendered(json.dumps(values or {}), arguments, chart)


def render(values=None, *arguments, chart=CHART):
    """The same as objects."""
    return [one for one in manifests.load_all(render_text(values, *arguments, chart=chart)) if one]


def find(text, title):
    """The object of that kind and name. Reads no others, which would take longer than helm."""
    kind, name = title.split()
    name = re.escape(name).replace(r"\*", ".*")
    found = [next(manifests.load_all(one)) for one in re.split(r"^---$", text, flags=re.MULTILINE)
             if re.search(rf"^kind: {kind}$", one, re.MULTILINE) and re.search(rf"^  name: {name}$", one, re.MULTILINE)]
    assert len(found) <= 1, title
    return found[0] if found else None
