"""Our programs and the second kube-scheduler as local processes. Each has only the rights of its ServiceAccount, so
that a missing right shows here first."""

import base64
import datetime
import http.client
import json
import os
import re
import shlex
import ssl
import subprocess
import time
import urllib.parse

import yaml

from tools.base import processes
from tools.base.console import Failure, wait_for
from tools.cluster import manifests
from tools.cluster.api import ApiError
from tools.controlplane import binaries

# started in this order; the scheduler comes after the extender that it asks
PROGRAMS = ("webhook", "extender", "controller", "server", "scheduler")
LEADERS = ("extender", "controller")
# Shorter than by default, so that a test which kills a leader need not wait for long; long enough for a
# machine that is busy with something else. A cluster that is measured has the default: a renewal is a write.
RENEW_DEADLINE = 6  # seconds for which a leader has not renewed its lease before it ends
LEASE = ("--leader-elect-lease-duration=8s", f"--leader-elect-renew-deadline={RENEW_DEADLINE}s",
         "--leader-elect-retry-period=1s")
WEBHOOK_NAME = "nervex-webhook-service.nervex-system.svc"


def binary(settings, program):
    if program == "scheduler":
        return binaries.path("kube-scheduler")
    return os.path.join(settings.bin, f"nervex-{program}")


def check_binaries(settings):
    paths = [*(binary(settings, program) for program in PROGRAMS), os.path.join(settings.bin, "nervexctl")]
    missing = [path for path in paths if not os.access(path, os.X_OK)]
    if missing:
        raise Failure("not built yet: " + ", ".join(missing)
                      + "\nRun 'make build', or set NERVEX_BIN to the folder that holds them.")


def write_kubeconfig(api, settings, program, name=None):
    """Writes a kubeconfig of the program's ServiceAccount; returns the file's path. Each instance has a separate
    one, so that the audit log can tell them apart; `name`: that of a second one."""
    return account_kubeconfig(api, "nervex-system", f"nervex-{program}",
                              settings.path("programs", f"{name or program}.kubeconfig"))


def account_kubeconfig(api, namespace, account, path):
    """A kubeconfig with a token of that ServiceAccount, valid for two days."""
    token = api.post(f"/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token",
                     {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
                      "spec": {"expirationSeconds": 48 * 3600}})["status"]["token"]
    config = {
        "apiVersion": "v1", "kind": "Config", "current-context": account,
        "clusters": [{"name": "local", "cluster": {
            "server": api.server, "certificate-authority": api.certificate_authority}}],
        "users": [{"name": account, "user": {"token": token}}],
        "contexts": [{"name": account, "context": {
            "cluster": "local", "user": account, "namespace": namespace}}],
    }
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
        yaml.safe_dump(config, file)
    return path


def issue_certificate(settings):
    """Creates ca.crt, tls.crt and tls.key for the webhook's local address; keeps them while they are fresh."""
    folder = settings.path("webhook")
    done = subprocess.run(
        [os.path.join(settings.bin, "nervexctl"), "certs", "--out", folder,
         "--san", "DNS:nervex-webhook-service.nervex-system", "--san", "DNS:localhost", "--san", "IP:127.0.0.1"],
        capture_output=True, text=True, env=processes.inherited())
    if done.returncode != 0:
        raise Failure(f"nervexctl certs failed: {done.stderr.strip()}")
    return folder


def credential(settings, name):
    """The token's id, as in the audit log."""
    with open(settings.path("programs", f"{name}.kubeconfig"), encoding="utf-8") as file:
        payload = yaml.safe_load(file)["users"][0]["user"]["token"].split(".")[1]
    return "JTI=" + json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))["jti"]


def arguments(settings, program, port, metrics_port, urls, name=None):
    """The command line of one program. NERVEX_<PROGRAM>_ARGS in the environment is appended."""
    kubeconfig = settings.path("programs", f"{name or program}.kubeconfig")
    command = [binary(settings, program)]
    if program == "scheduler":
        config = settings.path("programs", "scheduler.yaml")
        with open(config, "w", encoding="utf-8") as file:
            yaml.safe_dump(manifests.scheduler_configuration(kubeconfig, urls["extender"]), file, sort_keys=False)
        # No client authenticates to its port, and kwokctl's API server publishes nothing to do it with:
        # probes and metrics are open, on loopback.
        command += [f"--config={config}", "--bind-address=127.0.0.1", f"--secure-port={port}",
                    "--authorization-always-allow-paths=/healthz,/readyz,/livez,/metrics", "--v=2"]
    else:
        command += ["--kubeconfig", kubeconfig, "--metrics-listen", f"127.0.0.1:{metrics_port}"]
        command += [] if program == "controller" else ["--listen", f"127.0.0.1:{port}"]
        command += LEASE if program in LEADERS and not settings.measured else []
        command += ["--retry-delay=1s"] if program == "controller" else []
    if program == "webhook":
        folder = settings.path("webhook")
        command += ["--tls-cert-file", os.path.join(folder, "tls.crt"),
                    "--tls-key-file", os.path.join(folder, "tls.key")]
    return command + shlex.split(os.environ.get(f"NERVEX_{program.upper()}_ARGS", ""))


def url_of(program, port):
    return f"{'https' if program in ('webhook', 'scheduler') else 'http'}://127.0.0.1:{port}"


def probe(url, path, authority_file=None):
    """(is the status 200, what was seen)"""
    address = urllib.parse.urlsplit(url)
    try:
        if address.scheme == "https":
            # the scheduler signs its certificate itself
            tls = ssl.create_default_context(cafile=authority_file) if authority_file else ssl._create_unverified_context()
            connection = http.client.HTTPSConnection(address.hostname, address.port, timeout=3, context=tls)
        else:
            connection = http.client.HTTPConnection(address.hostname, address.port, timeout=3)
        try:
            connection.request("GET", path)
            response = connection.getresponse()
            return response.status == 200, f"{response.status} {response.read(2000).decode('utf-8', 'replace').strip()}"
        finally:
            connection.close()
    except (OSError, http.client.HTTPException) as error:
        return False, f"no answer ({error})"


def readiness(settings, program, url, path="/readyz"):
    return probe(url, path, settings.path("webhook", "ca.crt") if program == "webhook" else None)


def wait_until_ready(settings, process, timeout=60):
    program = process["program"]

    def look():
        if not processes.alive(process):
            raise Failure(f"{process['arguments'][0]} ended before it was ready", [process["log"]])
        return readiness(settings, program, process["url"])

    try:
        wait_for(look, f"{program} to be ready ({process['url']}/readyz)", timeout)
    except Failure as failure:
        failure.logs = failure.logs or [process["log"]]
        raise


def launch(settings, program, port, metrics_port, urls, name=None):
    """`name` distinguishes a second instance; the first is named after its program."""
    wall_start = time.time()
    if program in ("controller", "scheduler"):  # they serve no API: one port is enough
        metrics_port = port
    process = processes.start(arguments(settings, program, port, metrics_port, urls, name),
                              settings.path("logs", f"{name or program}.log"),
                              manifests.scheduler_environment() if program == "scheduler" else None)
    metrics_url = url_of("scheduler" if program == "scheduler" else "metrics", metrics_port)
    return {**process, "program": program, "port": port, "url": url_of(program, port),
            "metrics_port": metrics_port, "metrics_url": metrics_url, "wall_start": wall_start}


PORT_TAKEN = ("address already in use", "eaddrinuse", "cannot listen", "failed to listen", "could not bind",
              "cannot bind", "bind:")


def lost_its_port(process):
    """True if it ended early because another process took the port before its bind."""
    if processes.alive(process):
        return False
    with open(process["log"], encoding="utf-8", errors="replace") as log:
        text = log.read()[-4000:].lower()
    return any(words in text for words in PORT_TAKEN)


LEASE_LOST = re.compile("leader ?election lost", re.IGNORECASE)


def lost_its_lease(process):
    """True if it ended because it could not renew its lease in time, as it must. A busy machine or an unavailable
    API server causes that, and a kubelet restarts the program. Any other end is a crash."""
    return not processes.alive(process) and LEASE_LOST.search(processes.logged(process)) is not None


def wait_for_leadership(api, settings, process, timeout=30):
    """A scheduler answers its probes before it holds its lease; only then does it schedule. A lease taken
    before the process started belongs to its predecessor."""
    with open(settings.path("programs", "scheduler.yaml"), encoding="utf-8") as file:
        election = yaml.safe_load(file).get("leaderElection", {})
    if not election.get("leaderElect", True):
        return
    path = (f"/apis/coordination.k8s.io/v1/namespaces/{election.get('resourceNamespace', 'kube-system')}"
            f"/leases/{election.get('resourceName', 'kube-scheduler')}")

    def look():
        try:
            spec = api.get(path)["spec"]
        except (OSError, http.client.HTTPException, ApiError) as error:  # not there yet, or the API server is busy
            return False, str(error)
        taken = spec.get("acquireTime")
        since = datetime.datetime.fromisoformat(taken.replace("Z", "+00:00")).timestamp() if taken else 0
        return bool(spec.get("holderIdentity")) and since >= process["wall_start"], f"{spec}"

    try:
        wait_for(look, "the scheduler to become leader", timeout, interval=0.1)
    except Failure as failure:
        failure.logs = [process["log"]]
        raise
