"""Fixtures of the end-to-end tests: a cluster per session, a namespace per test.

    scripts/setup && scripts/build && scripts/control-plane
    $(scripts/setup --print-venv)/bin/pytest tests/e2e -k name_of_a_test

    NERVEX_E2E_CLUSTER=nervex    use the cluster that `make up` started (the quick way while writing tests)
    NERVEX_E2E_KUBECONFIG=FILE   use a cluster of your own where the suite is installed
    NERVEX_E2E_ORDER=<seed>      the order of files, and of tests in a file: random (the default, the seed is
                                 printed), a seed that was printed, or `written`
    NERVEX_E2E_EXTENDED=1        also the tests that are marked `extended` (make test-all)
    NERVEX_E2E_USES=FOLDER       for runs with workers (pytest -n): each keeps there what its cluster's audit log
                                 says, and `-m last` in a run after it judges all of that (scripts/test does so)
    NERVEX_E2E_DIRECT=1          the controller runs with --direct-placement (make test-direct); without the tests that
                                 are marked `scheduled`: they need pods that wait for kube-scheduler
    KEEP=1                       leave the session's own cluster up at the end

Tests that stop and start our programs or play the kubelet take the fixture `programs` or `node_agent`
and are skipped on a user's own cluster. A test that is skipped on any other cluster has failed.
"""

import contextlib
import os
import random
import signal
import sys
import uuid

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DIRECT = bool(os.environ.get("NERVEX_E2E_DIRECT"))
if DIRECT and "--direct-placement" not in os.environ.get("NERVEX_CONTROLLER_ARGS", ""):  # as its start reads it
    os.environ["NERVEX_CONTROLLER_ARGS"] = " ".join(
        filter(None, [os.environ.get("NERVEX_CONTROLLER_ARGS"), "--direct-placement"]))
sys.path.insert(0, ROOT)

import kubernetes  # noqa: E402
from tools.base import processes  # noqa: E402
from tools.base.console import Failure  # noqa: E402
from tools.ci.failures import INVARIANT  # noqa: E402
from tools.cluster import kubelet  # noqa: E402
from support import invariants, nodes, roles, wait  # noqa: E402
from support import target as targets  # noqa: E402
from support.audit import Audit  # noqa: E402
from support.commands import command  # noqa: E402
from support.extender import extender_with  # noqa: E402
from support.fake_kubelet import FakeKubelet, PodLogs  # noqa: E402
from support.fault_rig import FaultRig  # noqa: E402
from support.job_life import JobLife  # noqa: E402
from support.jobs import Jobs, job  # noqa: E402
from support.observer import Observer  # noqa: E402
from support.outages import Components  # noqa: E402
from support.queues import own_queues  # noqa: E402
from support.replicas_api import ReplicasApi  # noqa: E402
from support.sdk import job as sdk_job, nervex  # noqa: E402
from support.starts import Starts  # noqa: E402
from support.tenant import Tenant  # noqa: E402
from support.users import Users, wait_until_user_may  # noqa: E402
from support.wait import absent, away, conflict, wait_for  # noqa: E402


@pytest.fixture(scope="session")
def target(request):
    """The cluster as a whole: .env, .kubeconfig, .logs(), .cluster (None if it is a user's)."""
    try:
        chosen = targets.choose(os.environ.get("PYTEST_XDIST_WORKER", ""))
    except Failure as failure:  # without a cluster no test says anything
        names = [os.path.basename(path) for path in failure.logs]
        message = (f"no cluster to test on: {failure}\n"
                   f"(logs in .local/nervex-test-*.failed/: {', '.join(names) or 'none'})")
        if os.environ.get("PYTEST_XDIST_WORKER"):  # whose exit pytest-xdist takes for a crash
            pytest.fail(message, pytrace=False)
        pytest.exit(message, returncode=1)
    request.config.nervex_target = chosen
    if chosen.cluster:
        wait.meanwhile.append(chosen.cluster.revive)
    yield chosen
    wait.meanwhile.clear()
    failed = request.session.testsfailed > 0
    if chosen.cluster and os.environ.get("NERVEX_E2E_USES"):
        roles.keep_uses(os.environ["NERVEX_E2E_USES"], chosen.cluster, failed)
    chosen.close(failed)


@pytest.fixture
def env(target):
    """The variables of .local/<name>/env, read again for each test (pids change with restarts)."""
    return target.env


@pytest.fixture(scope="session")
def api_client(target):
    """The official client, as administrator."""
    return kubernetes.config.new_client_from_config(config_file=target.kubeconfig)


@pytest.fixture(scope="session")
def core(api_client):
    return kubernetes.client.CoreV1Api(api_client)


@pytest.fixture(scope="session")
def custom(api_client):
    return kubernetes.client.CustomObjectsApi(api_client)


@pytest.fixture(scope="session")
def fresh_namespace(core, custom):
    """with fresh_namespace() as name: its contents are deleted with it."""
    @contextlib.contextmanager
    def make():
        name = f"e2e-{uuid.uuid4().hex[:8]}"
        core.create_namespace({"metadata": {"name": name, "labels": {"nervex-e2e": "true"}}})
        # Pods need it. The controller manager makes one, too, but may be backing off for a minute after an outage.
        wait_for(lambda: make_service_account(core, name), f"the service account of {name}", 120, not_yet=[absent, away])
        yield name
        end_gangs(custom, name)
        core.delete_namespace(name, grace_period_seconds=0)
    return make


def end_gangs(custom, namespace):
    """The namespace takes a while to go. Until then its waiting gangs would take the nodes of the next test."""
    for plural in ("nervexjobs", "podgroups"):
        try:
            custom.delete_collection_namespaced_custom_object("nervex.sensetime.com", "v1alpha1", namespace, plural)
        except Exception as error:
            if not (absent(error) or away(error)):
                raise


def make_service_account(core, namespace):
    try:
        core.create_namespaced_service_account(namespace, {"metadata": {"name": "default"}})
    except kubernetes.client.ApiException as error:
        if not conflict(error):
            raise
    return True


@pytest.fixture
def namespace(fresh_namespace):
    """A namespace for this test only."""
    with fresh_namespace() as name:
        yield name


@pytest.fixture
def jobs(core, custom, namespace):
    """The jobs of the test's namespace, and their objects."""
    return Jobs(core, custom, namespace)


class Kubelet:
    """Plays the kubelet for pods of one namespace; see tools/cluster/kubelet.py."""

    def __init__(self, api, namespace, server_url):
        self._api, self._namespace, self._server_url = api, namespace, server_url

    def set_phase(self, pod, phase):
        return kubelet.set_phase(self._api, self._namespace, pod, phase)

    def finish(self, pod, exit_code=0, message="", sidecars_end=True):
        return kubelet.finish(self._api, self._namespace, pod, exit_code, message, sidecars_end)

    def annotate(self, pod, **values):
        """annotate(pod, main_exits=3): requests stages of tools/controlplane/stages from the simulated node."""
        return kubelet.annotate(self._api, self._namespace, pod, **values)

    def environment(self, pod):
        return kubelet.environment(self._api.get(kubelet.pod_path(self._namespace, pod)))

    def start_coordinator(self, pod, *extra):
        """Runs the pod's program as a local process; extra words are appended to its command line."""
        return kubelet.start_coordinator(self._api, self._namespace, pod, self._server_url, extra)


@pytest.fixture(scope="session")
def node_agents(target):
    """node_agents(namespace): a Kubelet for it."""
    if not target.cluster:
        pytest.skip("a real kubelet reports the pods' states on this cluster")
    return lambda namespace: Kubelet(target.cluster.api(), namespace, target.env["NERVEX_SERVER_URL"])


@pytest.fixture
def node_agent(node_agents, namespace):
    """A Kubelet for the test's namespace."""
    return node_agents(namespace)


@pytest.fixture
def own_node(target):
    """The name of a simulated node for this test only; templates choose it by the label nodes.OWN."""
    if not target.cluster:
        pytest.skip("the nodes of this cluster are its owner's")
    with nodes.own_node(target.cluster.api()) as name:
        yield name


@pytest.fixture
def audit(target):
    """The writes of our programs from now on; see support/audit.py."""
    if not target.cluster:
        pytest.skip("the audit log of this cluster is its owner's")
    return Audit(target.cluster.settings)


@pytest.fixture
def programs(target):
    """The running cluster's programs: .restart("controller"), .stop(name), .start(name), .start_second(name),
    .is_leader(name), .metrics(name), .api(). Every one is running again when the test ends, and no second
    one is left."""
    if not target.cluster:
        pytest.skip("our programs are not local processes on this cluster")
    yield target.cluster
    for name, process in list(target.cluster.programs.items()):
        if name != process["program"]:
            target.cluster.drop_second(name)
    for name, process in list(target.cluster.programs.items()):
        processes.send(process, signal.SIGCONT)
        if not processes.alive(process):
            target.cluster.start(name)


@pytest.fixture
def node(programs):
    """The name of a simulated node with 8 GPUs for this test only, which the extender knows; label nodes.OWN."""
    with nodes.own_node(programs.api(), gpus=8) as name:
        nodes.wait_usable(programs.api(), [name])
        yield name


@pytest.fixture
def controller_with(programs, monkeypatch):
    """controller_with("--services=per-pod"): the controller restarts with these flags, until the test ends."""
    def restart(*flags):
        monkeypatch.setenv("NERVEX_CONTROLLER_ARGS", " ".join(["--direct-placement"] * DIRECT + [*flags]))
        programs.restart("controller")
    yield restart
    monkeypatch.undo()
    programs.restart("controller")


@pytest.fixture
def token_auth(programs, monkeypatch):
    """nervex-server asks for tokens, and pods have one, during the test."""
    with monkeypatch.context() as patch:
        patch.setenv("NERVEX_SERVER_ARGS", "--auth=token")
        patch.setenv("NERVEX_CONTROLLER_ARGS", "--server-auth=token")
        programs.restart("server")
        programs.restart("controller")
    yield programs
    programs.restart("server")
    programs.restart("controller")


@pytest.fixture
def in_coordinator(token_auth, sdk_client, node_agent, namespace, env, monkeypatch):
    """The environment of the coordinator of a running job `dqn`, with its token in a file."""
    sdk_client.submit(sdk_job()).wait("running", timeout=120)
    for name, value in node_agent.environment("dqn-coordinator").items():
        if name.startswith("KUBERNETES_"):
            monkeypatch.setenv(name, value)
    monkeypatch.setenv("KUBERNETES_SERVER_URL", env["NERVEX_SERVER_URL"])
    api = token_auth.api()
    path = kubelet.project_token(api, api.get(kubelet.pod_path(namespace, "dqn-coordinator")))
    monkeypatch.setenv(kubelet.TOKEN_FILE, path)
    yield
    os.remove(path)


@pytest.fixture
def components(target):
    """The programs of the control plane; see support/outages.py. All of them and ours run again when the test ends."""
    if not target.cluster:
        pytest.skip("the control plane of this cluster is its owner's")
    one = Components(target.cluster)
    yield one
    one.close()
    for name, process in list(target.cluster.programs.items()):
        if not processes.alive(process):
            target.cluster.start(name)


@pytest.fixture(scope="session")
def fake_kubelet(target, tmp_path_factory):
    if not target.cluster:
        pytest.skip("the nodes of this cluster are its owner's")
    one = FakeKubelet(target.cluster.api(), tmp_path_factory.mktemp("kubelet"))
    yield one
    one.close()


@pytest.fixture
def pod_logs(fake_kubelet, namespace):
    """The logs of the test's simulated pods: .write(pod, *lines), .end(pod), .cut(); see support/fake_kubelet.py."""
    return PodLogs(fake_kubelet, namespace)


@pytest.fixture
def sdk_client(target, namespace):
    """nervex.Client as administrator."""
    with nervex.Client(namespace, kubeconfig=target.kubeconfig) as one:
        yield one


@pytest.fixture
def users(target, core, namespace, tmp_path):
    """Accounts with Kubernetes' own roles in the test's namespace; see support/users.py."""
    if not target.cluster:
        pytest.skip("the roles of this cluster are its owner's")
    return Users(target, core, namespace, tmp_path)


@pytest.fixture
def queues(custom, namespace):
    """Queues of the test's own; see support/queues.py."""
    with own_queues(custom, namespace) as made:
        yield made


@pytest.fixture
def other_team(fresh_namespace, core, custom, queues):
    """with other_team(8) as theirs: the jobs of another namespace, whose queue `others` has a quota of so many GPUs."""
    @contextlib.contextmanager
    def begin(gpus, **spec):
        with fresh_namespace() as name:
            queues.create("others", namespaceSelector={"matchLabels": {"kubernetes.io/metadata.name": name}},
                          quota=[{"resources": {"nvidia.com/gpu": gpus}}], **spec)
            yield Jobs(core, custom, name)
    return begin


@pytest.fixture
def token_of(programs, namespace):
    """token_of(pod): the token for nervex-server that the pod of the test's namespace has."""
    def get(pod):
        api = programs.api()
        return kubelet.pod_token(api, api.get(kubelet.pod_path(namespace, pod)))
    return get


@pytest.fixture
def tenant(users, namespace, node, core):
    """A hostile user with the role `edit` in the test's namespace; see support/tenant.py."""
    return Tenant(users, namespace, node, core)


@pytest.fixture
def per_pod_services(controller_with):
    """Request it before the fixture that creates the job."""
    controller_with("--services=per-pod")


@pytest.fixture(params=["shared", "per-pod"])
def services_mode(request):
    """The test runs with one Service per namespace (the default), and with one per pod."""
    if request.param == "per-pod":
        request.getfixturevalue("per_pod_services")
    return request.param


@pytest.fixture
def replicas_api(env):
    """nervex-server as a coordinator sees it."""
    return ReplicasApi(env["NERVEX_SERVER_URL"])


@pytest.fixture(scope="session")
def kubectl(target):
    """kubectl("get", "pods") runs it against the cluster, as administrator."""
    return command(target, "kubectl")


@pytest.fixture(scope="session")
def nervexctl(target):
    return command(target, "nervexctl")


@pytest.fixture
def nervexctl_as(users, kubectl, nervexctl):
    """nervexctl_as("edit")("list"): nervexctl for an account with this role in the test's namespace."""
    def make(role):
        path = users.kubeconfig(role)
        for what in ("nervexjobs", "podgroups.nervex.sensetime.com", "pods", "events"):
            wait_until_user_may(kubectl, path, "list", what)
        for what in ("nervexjobs", "pods") if role == "edit" else ():
            wait_until_user_may(kubectl, path, "create", what)
        return lambda *words, **options: nervexctl(*words, "--kubeconfig", path, **options)
    return make


# -- without admission


def webhook_refusal(jobs):
    """The API server's message about a job that only our webhooks refuse; "" if it accepts the job."""
    try:
        jobs.create(job("7th"), dry_run=True)
    except kubernetes.client.ApiException as error:
        return error.body
    return ""


@pytest.fixture
def webhooks_away(jobs, programs, custom):
    """with webhooks_away(): our webhook configurations do not exist. The API server notices by one watch per kind:
    creating a wrong job shows whether they have caught up."""
    hooks = kubernetes.client.AdmissionregistrationV1Api(custom.api_client)

    @contextlib.contextmanager
    def webhooks_gone():
        validating = hooks.read_validating_webhook_configuration("nervex-validating-webhook-configuration")
        mutating = hooks.read_mutating_webhook_configuration("nervex-mutating-webhook-configuration")
        hooks.delete_mutating_webhook_configuration(mutating.metadata.name)
        hooks.delete_validating_webhook_configuration(validating.metadata.name)
        try:
            wait_for(lambda: (not webhook_refusal(jobs), webhook_refusal(jobs)), "both webhooks to be asked no more")
            yield
        finally:
            for one in (validating, mutating):
                one.metadata.resource_version = one.metadata.uid = None
            hooks.create_validating_webhook_configuration(validating)
            wait_for(lambda: webhook_refusal(jobs), "the validating webhook to be asked again")
            hooks.create_mutating_webhook_configuration(mutating)
            wait_for(lambda: "mnervexjob" in webhook_refusal(jobs), "the mutating webhook to be asked again")
    return webhooks_gone


# -- deadlines


@pytest.fixture(scope="module")
def quick(target, request):
    """The cluster, with the extender's deadlines from this file's QUICK, so that a test can wait for them."""
    if not target.cluster:
        pytest.skip("our programs are not local processes on this cluster")
    with extender_with(target.cluster, request.module.QUICK):
        yield target.cluster


# -- faults


@pytest.fixture(scope="module")
def rig_of_module(target):
    """Our programs restarted behind fault proxies, for the tests of one file; see support/fault_rig.py."""
    if not target.cluster:
        pytest.skip("our programs are not local processes on this cluster")
    rig = FaultRig(target.cluster)
    try:
        yield rig.install()
    finally:
        rig.remove()


@pytest.fixture
def rig(rig_of_module):
    """The rig without faults at the start of the test, and with every program running at its end."""
    yield rig_of_module
    rig_of_module.calm()


@pytest.fixture
def observer(target, namespace):
    """Watches the test's pods while it runs; see support/observer.py."""
    if not target.cluster:
        pytest.skip("the nodes of this cluster are its owner's")
    one = Observer(target.cluster.api(), namespace).start()
    yield one
    one.stop()


@pytest.fixture
def starts(target, namespace):
    """How the gangs of the test's namespace start; see support/starts.py."""
    if not target.cluster:
        pytest.skip("our programs are not local processes on this cluster")
    one = Starts(target.cluster.api(), namespace).start()
    yield one
    one.stop()


@pytest.fixture
def life(jobs, node_agent, replicas_api):
    """A job's whole life in one call; see support/job_life.py."""
    return JobLife(jobs, node_agent, replicas_api)


# -- the order of tests: none may need what another one left, or mind it


def pytest_configure(config):
    chosen = os.environ.setdefault("NERVEX_E2E_ORDER", "random")
    if chosen == "random":  # in the environment, so that workers of pytest-xdist sort alike
        chosen = os.environ["NERVEX_E2E_ORDER"] = str(random.SystemRandom().randrange(10**6))
    config.nervex_order = chosen


def pytest_report_header(config):
    return f"order of tests: NERVEX_E2E_ORDER={config.nervex_order}"


def shuffled(items, seed):
    """Files in random order, and the tests of each as well, except in a file marked `in_order`."""
    chance = random.Random(seed)
    files = {}
    for item in items:
        files.setdefault(item.path, []).append(item)
    names = sorted(files)
    chance.shuffle(names)
    for name in names:
        if not files[name][0].get_closest_marker("in_order"):
            chance.shuffle(files[name])
    names.sort(key=lambda name: files[name][0].get_closest_marker("long") is None)  # stable
    return [item for name in names for item in files[name]]


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    here = os.path.dirname(os.path.abspath(__file__))
    files = {name for name in os.listdir(here) if name.startswith("test_") and name.endswith(".py")}
    by_name = config.option.keyword or any("::" in word for word in config.args)
    chosen = by_name or config.option.markexpr
    whole = not chosen and files == {item.path.name for item in items} and not os.environ.get("PYTEST_XDIST_WORKER")
    if not whole and not os.environ.get("NERVEX_E2E_USES"):  # see test_roles.py
        parts = [item for item in items if item.get_closest_marker("whole_run")]
        config.hook.pytest_deselected(items=parts)
        items[:] = [item for item in items if item not in parts]
    if not by_name and not os.environ.get("NERVEX_E2E_EXTENDED"):
        extended = [item for item in items if item.get_closest_marker("extended")]
        config.hook.pytest_deselected(items=extended)
        items[:] = [item for item in items if item not in extended]
    if DIRECT:
        scheduled = [item for item in items if item.get_closest_marker("scheduled")]
        config.hook.pytest_deselected(items=scheduled)
        items[:] = [item for item in items if item not in scheduled]
    if config.nervex_order != "written":
        items[:] = shuffled(items, config.nervex_order)
    items.sort(key=lambda item: item.get_closest_marker("last") is not None)  # stable


# -- a skip is for a cluster of the user's


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_makereport(item, call):
    if call.excinfo:
        item.user_properties += [(INVARIANT, sentence) for sentence in invariants.found()]
    report = yield
    # One that judges a run cannot judge one with failures, which has failed anyway.
    may_skip = os.environ.get("NERVEX_E2E_KUBECONFIG") or item.get_closest_marker("whole_run")
    if report.skipped and not may_skip:
        why = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        report.outcome, report.longrepr = "failed", f"{item.nodeid}: on a cluster of ours nothing is skipped: {why}"
    if report.failed:
        offsets = getattr(item, "nervex_log_offsets", {})
        for name, path in logs(item.config).items():
            report.sections.append((f"log of {name} during this test", text_since(path, offsets.get(name, 0))))
    return report


# -- what our programs logged while a test ran, attached to its report if it failed


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item):
    invariants.begin_test()
    item.nervex_log_offsets = {name: size(path) for name, path in logs(item.config).items()}
    return (yield)


def logs(config):
    target = getattr(config, "nervex_target", None)
    return target.logs() if target else {}


def size(path):
    try:
        return os.path.getsize(path)
    except OSError:
        return 0


def text_since(path, offset, limit=6000):
    try:
        with open(path, "rb") as file:
            file.seek(offset)
            text = file.read().decode("utf-8", "replace")
    except OSError as error:
        return str(error)
    return text if len(text) <= limit else "...\n" + text[-limit:]
