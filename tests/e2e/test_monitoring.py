"""What manifests/monitoring installs: does each alert fire when it should, has it a runbook, and do the dashboard's
queries find something in a Prometheus that scrapes the suite?"""

import json
import os
import re
import subprocess
import urllib.parse
import urllib.request

import pytest
import yaml
from tools.base import processes
from tools.base.tree import ROOT
from tools.controlplane import binaries
from support.jobs import job, template
from support.queues import own_queues
from support.wait import away, wait_for

MONITORING = os.path.join(ROOT, "manifests", "monitoring")
RUNBOOKS = "docs/tasks/alerts.md"


def read(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as file:
        return file.read()


def groups():
    return yaml.safe_load(read(MONITORING, "alerts.yaml"))["spec"]["groups"]


RULES = {rule["alert"]: rule for group in groups() for rule in group["rules"]}
TRIED = yaml.safe_load(read("tests", "e2e", "support", "alerts.yaml"))


def queries():
    """(panel, query) of the dashboard, and (alert, expression)."""
    dashboard = json.loads(read(MONITORING, "dashboards", "nervex.json"))
    yield from ((panel["title"], target["expr"]) for panel in dashboard["panels"] for target in panel["targets"])
    yield from ((name, rule["expr"]) for name, rule in RULES.items())


# -- from the files alone


def test_metrics_of_queries_are_documented():
    used = {name.removesuffix("_bucket") for _, query in queries()
            for name in re.findall(r"\b(?:nervex|controller_runtime|workqueue|rest_client|leader_election|process)_\w+", query)}
    assert len(used) > 10
    listed = set(re.findall(r"`(\w+)`", read("docs", "reference", "metrics.md")))
    assert used - listed == set()


def test_each_alert_has_a_runbook_with_its_expression():
    sections = dict(re.findall(r"^### (\w+)\n(.*?)(?=^##|\Z)", read(RUNBOOKS), re.MULTILINE | re.DOTALL))
    assert sorted(sections) == sorted(RULES)
    for name, rule in RULES.items():
        assert rule["annotations"]["runbook"] == f"{RUNBOOKS}#{name.lower()}"
        assert rule["labels"]["severity"] in sections[name]
        assert " ".join(rule["expr"].split()) in " ".join(sections[name].split()), name


def test_each_alert_is_tried_with_series_that_make_it_fire():
    assert {one["alert"] for one in TRIED if one.get("fires")} == set(RULES)


# -- by promtool


@pytest.fixture(scope="module")
def prometheus_programs():
    """prometheus_programs("promtool"): its path. Builds them if they are missing."""
    done = subprocess.run([os.path.join(ROOT, "scripts", "control-plane"), "--prometheus"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return lambda name: binaries.path(name, "--prometheus")


def promtool_test(one):
    """The row of support/alerts.yaml as promtool reads it."""
    rule = RULES[one["alert"]]

    def alert(minute, labels=None, summary=None):
        expected = {} if labels is None else {"exp_alerts": [{
            "exp_labels": {**rule["labels"], **labels},
            "exp_annotations": {**rule["annotations"], "summary": summary or rule["annotations"]["summary"]}}]}
        return {"eval_time": f"{minute}m", "alertname": one["alert"], **expected}
    return {"name": f"{one['alert']}: {one['when']}", "interval": "1m",
            "input_series": [{"series": name, "values": values} for name, values in one["series"].items()],
            "alert_rule_test": [*map(alert, one.get("silent", [])),
                                *(alert(minute, *expected) for minute, expected in one.get("fires", {}).items())]}


@pytest.mark.extended
def test_alerts_fire_when_they_should_and_at_no_other_time(tmp_path, prometheus_programs):
    def promtool(*words):
        done = subprocess.run([prometheus_programs("promtool"), *words], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr

    (tmp_path / "rules.yaml").write_text(yaml.safe_dump({"groups": groups()}))
    (tmp_path / "tests.yaml").write_text(yaml.safe_dump({
        "rule_files": ["rules.yaml"], "evaluation_interval": "1m", "tests": [promtool_test(one) for one in TRIED]}))
    promtool("check", "rules", "--lint=all", "--lint-fatal", "rules.yaml")
    promtool("test", "rules", "tests.yaml")


# -- by a Prometheus that scrapes the suite


class Prometheus:
    """Scrapes the suite's programs each second, with the labels that a PodMonitor gives them."""

    def __init__(self, program, programs, folder):
        jobs = [{"job_name": f"nervex-{name}", "static_configs": [{
            "targets": [urllib.parse.urlsplit(one["metrics_url"]).netloc],
            "labels": {"job": "nervex-system/nervex", "namespace": "nervex-system", "pod": f"nervex-{name}-0",
                       "container": f"nervex-{name}"}}]} for name, one in programs.programs.items() if name != "scheduler"]
        (folder / "rules.yaml").write_text(yaml.safe_dump({"groups": groups()}))
        (folder / "prometheus.yaml").write_text(yaml.safe_dump({
            "global": {"scrape_interval": "1s", "evaluation_interval": "1s"}, "rule_files": ["rules.yaml"],
            "scrape_configs": jobs}))
        port = processes.free_port([])
        self.url = f"http://127.0.0.1:{port}"
        self.process = processes.start(
            [program, f"--config.file={folder}/prometheus.yaml",
             f"--storage.tsdb.path={folder}/data", f"--web.listen-address=127.0.0.1:{port}"], str(folder / "log"))

    def get(self, path, **query):
        with urllib.request.urlopen(f"{self.url}/api/v1/{path}?{urllib.parse.urlencode(query)}", timeout=10) as reply:
            return json.load(reply)["data"]

    def series(self, query):
        return self.get("query", query=query)["result"]


@pytest.fixture
def prometheus(prometheus_programs, programs, tmp_path):
    one = Prometheus(prometheus_programs("prometheus"), programs, tmp_path)
    try:
        wait_for(lambda: len(one.series("up == 1")) == 4, "each program to be scraped", not_yet=[away])
        yield one
    finally:
        processes.stop([one.process])


@pytest.mark.extended
def test_each_query_of_the_dashboard_finds_what_a_job_did(prometheus, life, jobs, custom, namespace):
    with own_queues(custom, namespace) as queues:
        queues.create("watched", quota=[{"resources": {"nvidia.com/gpu": "1"}}])
        jobs.create(job("waits", coordinator={"template": template(gpus=64)}))
        jobs.create(job("holds", coordinator={"template": template(gpus=1)}))
        life.run()
        missing = [(name, query) for name, query in queries() if name not in RULES]

        def found():
            missing[:] = [(name, query) for name, query in missing if not prometheus.series(query)]
            return not missing, missing
        wait_for(found, "each query to have a result", 90)  # what is told of queues is renewed once a minute
    rules = [rule for group in prometheus.get("rules")["groups"] for rule in group["rules"]]
    assert {rule["name"]: rule["health"] for rule in rules} == {name: "ok" for name in RULES}
    # a job waits, which is so far for less than an hour
    assert {rule["name"]: rule["state"] for rule in rules if rule["state"] != "inactive"} == {"NervexGangsWait": "pending"}
