"""The suite on the Kubernetes that this cluster has. make test-versions runs this file, and every test that is marked
`versions`, on each version of docs/reference/versions.md."""

import json
import os
import subprocess

import pytest
from tools.cluster import suite

pytestmark = pytest.mark.versions


def test_the_control_plane_has_one_version(kubectl, programs):
    """That of make test-versions, if it runs this."""
    served = json.loads(kubectl("get", "--raw", "/version").stdout)["gitVersion"]
    scheduler = suite.binary(programs.settings, "scheduler")
    said = subprocess.run([scheduler, "--version"], check=True, capture_output=True, text=True).stdout
    assert said.split()[-1] == served
    assert served.startswith(f"v{os.environ.get('NERVEX_E2E_KUBERNETES') or ''}")


def test_a_job_lives_to_its_end(life):
    state = life.run()
    assert (state["phase"], state["attempt"]) == ("Succeeded", 2)
