"""The webhook's certificate on a real node: what its pods serve, and how each variant of the install renews it."""

import json
import time

from tools.base.console import Failure, wait_for
from tools.realnode import install

SYSTEM = install.SYSTEM


def webhooks(node):
    return install.get(node, "pods", "-n", SYSTEM, "-l", "app.kubernetes.io/name=nervex-webhook")["items"]


def served(node):
    """{pod: serial number of the certificate that it serves}"""
    found = {}
    for pod in webhooks(node):
        # TLS 1.2 and a server that wants a certificate of its caller: it has shown its own by then
        done = node.run("sh", "-c", f"openssl s_client -connect {pod['status']['podIP']}:9443 </dev/null 2>/dev/null | "
                                    "openssl x509 -noout -serial")
        found[pod["metadata"]["name"]] = done.stdout.strip()
    return found


def restarts(node):
    return sum(one["restartCount"] for pod in webhooks(node) for one in pod["status"]["containerStatuses"])


def renew(node, variant):
    if variant in install.BY_CERT_MANAGER:
        renew_by_cert_manager(node)
    else:
        renew_by_ourselves(node)


def renew_by_cert_manager(node):
    """As its own command line tool asks for it: the condition Issuing."""
    condition = {"type": "Issuing", "status": "True", "reason": "ManuallyTriggered", "message": "asked for by a test",
                 "lastTransitionTime": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}
    found = install.get(node, "certificate", "nervex-serving-cert", "-n", SYSTEM)
    others = [one for one in found["status"].get("conditions", []) if one["type"] != "Issuing"]
    node.kubectl("patch", "certificate", "nervex-serving-cert", "-n", SYSTEM, "--subresource=status", "--type=merge", "-p",
                 json.dumps({"status": {"conditions": [*others, condition]}}))


def renew_by_ourselves(node):
    """Runs the daily job once more and makes it renew at any age."""
    made = json.loads(node.kubectl("create", "job", "renew-now", "--from=cronjob/nervex-certs", "-n", SYSTEM,
                                   "--dry-run=client", "-o", "json").stdout)
    made["spec"]["template"]["spec"]["containers"][0]["args"].append("--renew-now")
    node.kubectl("create", "-f", "-", body=json.dumps(made))

    def done():
        status = install.get(node, "job", "renew-now", "-n", SYSTEM).get("status", {})
        if status.get("failed"):
            raise Failure(node.kubectl("logs", "-n", SYSTEM, "job/renew-now", check=False).stdout)
        return status.get("succeeded") == 1, status
    wait_for(done, "the job that renews", 60, 0.3)
    node.kubectl("delete", "job", "renew-now", "-n", SYSTEM)
