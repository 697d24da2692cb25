#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <ctime>

#include "kube/model/pod.h"
#include "tests/support/golden.h"

namespace nervex::kube {
namespace {

constexpr std::int64_t kMi = 1024 * 1024;

const PodFilter kOurs{.label_keys = {"nervexjob-name", "replica-type"},
                      .annotation_keys = {"nervex.sensetime.com/slot"},
                      .finalizer = "ours/tracking",
                      .detail_label = "nervexjob-name"};

// A pod of ours with this spec and status, as JSON texts.
Pod decoded(const std::string& spec, const std::string& status) {
  const auto pod =
      decode_pod(R"({"metadata":{"name":"p","labels":{"nervexjob-name":"j"}},"spec":)" + spec +
                     R"(,"status":)" + status + "}",
                 kOurs);
  REQUIRE(pod);
  return *pod;
}

TEST_CASE("decode_pod reads a pod as the API server writes it", "[kube][pod][golden]") {
  const auto pod = decode_pod(testing::golden("kube/pod_running.json"), kOurs);
  REQUIRE(pod);

  Pod want;
  want.meta.ns = "team-a";
  want.meta.name = "dqn-learner-x2b7k";
  want.meta.uid = "0b6f4c1e-8f0e-4f2a-9c52-3d2b9a1f7f10";
  want.meta.resource_version = "184467";
  want.meta.generation = 1;
  want.meta.created = *parse_rfc3339("2026-11-21T13:56:04Z");
  want.meta.owner = OwnerRef{"nervex.sensetime.com/v1alpha1", "NerveXJob", "dqn",
                             "7f1d3c57-6c4f-4f43-8d0e-1a1f7e4c0f7e"};
  want.meta.labels = {{"nervexjob-name", "dqn"}, {"replica-type", "learner"}};
  want.meta.annotations = {{"nervex.sensetime.com/slot", "learner/0"}};
  want.scheduler_name = "nervex-scheduler";
  want.node = "gpu-07";
  want.ip = "10.1.7.3";
  want.phase = PodPhase::kRunning;
  want.ready = true;
  want.has_start_time = true;
  want.bound_since = *parse_rfc3339("2026-11-21T13:56:05Z");
  want.containers = {{.name = "nervex-container",
                      .ready = true,
                      .restarts = 2,
                      .terminated = false,
                      .exit_code = 137,  // before the last restart
                      .reason = "",
                      .message = "the run before"}};
  // max(2500m + sidecar 100m, 3 before the sidecar) + 50m; 32Gi + 64Mi + 16Mi
  want.requests = {
      {"cpu", 3050}, {"memory", (32 * 1024 + 64 + 16) * kMi}, {"nvidia.com/gpu", 8}, {"pods", 1}};
  CHECK(*pod == want);
}

TEST_CASE("of other pods only what occupies a node is kept", "[kube][pod]") {
  const auto pod = decode_pod(
      R"({"metadata":{"name":"p","namespace":"b","labels":{"app":"x"},"annotations":{"a":"b"}},
          "spec":{"nodeName":"n","containers":[{"resources":{"requests":{"cpu":"1"}}}]},
          "status":{"phase":"Failed","reason":"Evicted","message":"low on memory","podIP":"10.0.0.1",
            "conditions":[{"type":"PodScheduled","status":"False","message":"0/3 nodes"}],
            "containerStatuses":[{"name":"c","state":{"terminated":{"exitCode":1}}}]}})",
      kOurs);
  REQUIRE(pod);
  CHECK(pod->meta.key() == "b/p");
  CHECK(pod->meta.labels.empty());
  CHECK(pod->meta.annotations.empty());
  CHECK(pod->containers.empty());
  CHECK(pod->message.empty());
  CHECK(pod->ip.empty());
  CHECK(pod->unscheduled_message.empty());
  CHECK(pod->reason == "Evicted");
  CHECK(pod->requests == Resources{{"cpu", 1000}, {"pods", 1}});
}

TEST_CASE("a pod occupies its node from binding until it has finished", "[kube][pod]") {
  struct Row {
    std::string when;
    std::string spec;
    std::string status;
    PodPhase phase;
    bool occupies;
  };
  const auto row = GENERATE(values<Row>({
      {"there is no status", "{}", "null", PodPhase::kPending, false},
      {"it is bound and pending", R"({"nodeName":"n"})", "{}", PodPhase::kPending, true},
      {"it runs", R"({"nodeName":"n"})", R"({"phase":"Running"})", PodPhase::kRunning, true},
      {"it succeeded", R"({"nodeName":"n"})", R"({"phase":"Succeeded"})", PodPhase::kSucceeded,
       false},
      {"it failed", R"({"nodeName":"n"})", R"({"phase":"Failed"})", PodPhase::kFailed, false},
      {"the phase is Unknown", R"({"nodeName":"n"})", R"({"phase":"Unknown"})", PodPhase::kUnknown,
       true},
      {"the phase is new to us", R"({"nodeName":"n"})", R"({"phase":"Resting"})",
       PodPhase::kUnknown, true},
  }));
  INFO("when " << row.when);
  const Pod pod = decoded(row.spec, row.status);
  CHECK(pod.phase == row.phase);
  CHECK(pod.occupies() == row.occupies);
}

TEST_CASE("conditions and hints are read", "[kube][pod]") {
  const Pod pod = decoded("{}", R"({"nominatedNodeName":"n7","conditions":[
      {"type":"PodScheduled","status":"False","reason":"Unschedulable","message":"0/3 nodes"},
      {"type":"DisruptionTarget","status":"True","reason":"EvictionByEvictionAPI","message":"x"},
      {"type":"Ready","status":"False"}]})");
  CHECK(pod.nominated_node == "n7");
  CHECK(pod.unscheduled_message == "0/3 nodes");
  CHECK(pod.disruption_target);
  CHECK(pod.disruption_reason == "EvictionByEvictionAPI");
  CHECK_FALSE(pod.ready);
  CHECK(decoded("{}", R"({"conditions":[{"type":"PodScheduled","status":"True","message":"x"}]})")
            .unscheduled_message.empty());
}

TEST_CASE("the scheduler's message is kept for pods with the given annotation", "[kube][pod]") {
  const PodFilter filter{{}, {}, "", "", "a/gang"};
  const std::string pod = R"({"metadata":{"name":"p","annotations":{"ANNOTATION":"1"}},
      "status":{"conditions":[{"type":"PodScheduled","status":"False","reason":"Unschedulable",
        "message":"0/3 nodes","lastTransitionTime":"2026-11-22T10:00:07Z"}]}})";
  const auto with = [&](const std::string& annotation) {
    std::string text = pod;
    text.replace(text.find("ANNOTATION"), 10, annotation);
    return decode_pod(text, filter);
  };
  const auto ours = with("a/gang");
  REQUIRE(ours);
  CHECK(ours->unscheduled_reason == "Unschedulable");
  CHECK(ours->unscheduled_message == "0/3 nodes");
  CHECK(ours->unscheduled_since == *parse_rfc3339("2026-11-22T10:00:07Z"));
  CHECK(ours->meta.annotations.empty());
  const auto other = with("a/other");
  REQUIRE(other);
  CHECK(other->unscheduled_reason.empty());
  CHECK(other->unscheduled_message.empty());
  CHECK(other->unscheduled_since == SysTime{});
}

TEST_CASE("a pod on a lost node, and one that is deleted at once, are told apart from others",
          "[kube][pod]") {
  const auto with = [](const std::string& metadata, const std::string& condition) {
    const auto pod = decode_pod(R"({"metadata":{"name":"p")" + metadata +
                                    R"(},"status":{"conditions":[)" + condition + "]}}",
                                {});
    REQUIRE(pod);
    return *pod;
  };
  const std::string type = R"({"type":"nervex.sensetime.com/NodeLost","status":)";
  CHECK(with("", type + R"("True","message":"node n1 is gone"})").node_lost == "node n1 is gone");
  CHECK_FALSE(with("", type + R"("True"})").node_lost.empty());
  CHECK(with("", type + R"("False","message":"it is back"})").node_lost.empty());
  const std::string leaving = R"(,"deletionTimestamp":"2026-11-22T10:00:07Z")";
  CHECK(with(leaving + R"(,"deletionGracePeriodSeconds":0)", "").deleted_at_once);
  CHECK_FALSE(with(leaving + R"(,"deletionGracePeriodSeconds":30)", "").deleted_at_once);
  CHECK_FALSE(with("", "").deleted_at_once);
}

TEST_CASE("the end of the deletion grace period is kept for gang pods only", "[kube][pod]") {
  const auto with = [](const std::string& annotation) {
    PodFilter filter;
    filter.scheduling_annotation = "slot";
    const auto pod = decode_pod(R"({"metadata":{"name":"p","annotations":{")" + annotation +
                                    R"(":"x"},"deletionTimestamp":"2026-11-22T10:00:07Z"}})",
                                filter);
    REQUIRE(pod);
    return pod->deletion_timestamp;
  };
  CHECK(to_rfc3339(with("slot")) == "2026-11-22T10:00:07Z");
  CHECK(with("other") == SysTime{});
}

TEST_CASE("the grace periods of a pod of ours are kept, its own and that of its deletion",
          "[kube][pod]") {
  struct Row {
    std::string when;
    std::string spec;
    std::string metadata;
    std::pair<int, int> want;  // its own, its deletion's
  };
  const std::string leaving = R"("deletionTimestamp":"2026-11-22T10:00:07Z",)";
  const auto row = GENERATE_COPY(values<Row>({
      {"neither is set", "{}", "", {30, 0}},
      {"both are set",
       R"({"terminationGracePeriodSeconds":2})",
       leaving + R"("deletionGracePeriodSeconds":3600,)",
       {2, 3600}},
      {"both are longer than any time",
       R"({"terminationGracePeriodSeconds":9223372036854775807})",
       leaving + R"("deletionGracePeriodSeconds":4611686018427387904,)",
       {kMaxGraceSeconds, kMaxGraceSeconds}},
      {"they are negative",
       R"({"terminationGracePeriodSeconds":-1})",
       leaving + R"("deletionGracePeriodSeconds":-1,)",
       {0, 0}},
  }));
  INFO("when " << row.when);
  const auto read = [&](const std::string& label) {
    const auto pod = decode_pod(R"({"metadata":{"name":"p",)" + row.metadata + R"("labels":{")" +
                                    label + R"(":"j"}},"spec":)" + row.spec + "}",
                                kOurs);
    REQUIRE(pod);
    return std::pair<int, int>(pod->own_grace_seconds, pod->deletion_grace_seconds);
  };
  CHECK(read("nervexjob-name") == row.want);
  CHECK(read("app") == std::pair(30, 0));
}

TEST_CASE("a container that was restarted keeps how it ended before", "[kube][pod]") {
  const Pod pod = decoded(R"({"restartPolicy":"Always"})", R"({"phase":"Running",
      "containerStatuses":[{"name":"c","restartCount":1,"state":{"running":{}},
        "lastState":{"terminated":{"exitCode":3,"reason":"Error","message":"no data left"}}}]})");
  REQUIRE(pod.containers.size() == 1);
  const ContainerState& state = pod.containers.front();
  CHECK_FALSE(state.terminated);
  CHECK(state.restarts == 1);
  CHECK(state.exit_code == 3);
  CHECK(state.message == "no data left");
  CHECK(state.reason.empty());
}

TEST_CASE("a container has ended for good only if the kubelet will not start it again",
          "[kube][pod]") {
  struct Row {
    std::string when;
    std::string spec;
    std::string phase;
    std::string state;
    bool terminated;
    int exit_code;
    std::string reason;
  };
  const std::string failed = R"({"terminated":{"exitCode":3,"reason":"Error"}})";
  const std::string done = R"({"terminated":{"exitCode":0,"reason":"Completed"}})";
  const auto row = GENERATE_COPY(values<Row>({
      {"it runs", R"({"restartPolicy":"Never"})", "Running", R"({"running":{}})", false, 3, ""},
      {"it is never restarted", R"({"restartPolicy":"Never"})", "Running", failed, true, 3,
       "Error"},
      {"it is always restarted", R"({"restartPolicy":"Always"})", "Running", done, false, 0,
       "Completed"},
      {"it is restarted on failure and failed", R"({"restartPolicy":"OnFailure"})", "Running",
       failed, false, 3, "Error"},
      {"it is restarted on failure and succeeded", R"({"restartPolicy":"OnFailure"})", "Running",
       done, true, 0, "Completed"},
      {"the pod has finished all the same", R"({"restartPolicy":"Always"})", "Failed", failed, true,
       3, "Error"},
      {"it waits for its next start", R"({"restartPolicy":"Always"})", "Running",
       R"({"waiting":{"reason":"CrashLoopBackOff","message":"back-off 5m0s"}})", false, 3,
       "CrashLoopBackOff"},
      {"its own policy differs from the pod's",
       R"({"restartPolicy":"Always","containers":[{"name":"c","restartPolicy":"Never"}]})",
       "Running", failed, true, 3, "Error"},
      {"a rule restarts it on this exit code",
       R"({"restartPolicy":"Never","containers":[{"name":"c","restartPolicy":"Never","restartPolicyRules":[
          {"action":"Restart","exitCodes":{"operator":"In","values":[2,3]}}]}]})",
       "Running", failed, false, 3, "Error"},
      {"a rule restarts it on all but some exit codes",
       R"({"containers":[{"name":"c","restartPolicy":"Never","restartPolicyRules":[
          {"exitCodes":{"values":[0],"operator":"NotIn"},"action":"Restart"}]}]})",
       "Running", failed, false, 3, "Error"},
      {"its rule is for other exit codes",
       R"({"containers":[{"name":"c","restartPolicy":"Never","restartPolicyRules":[
          {"action":"Restart","exitCodes":{"operator":"In","values":[42]}}]}]})",
       "Running", failed, true, 3, "Error"},
      {"its rule restarts all containers",
       R"({"containers":[{"name":"c","restartPolicy":"Never","restartPolicyRules":[
          {"action":"RestartAllContainers","exitCodes":{"operator":"In","values":[3]}}]}]})",
       "Running", failed, false, 3, "Error"},
      {"the pod has finished despite a rule",
       R"({"containers":[{"name":"c","restartPolicy":"Never","restartPolicyRules":[
          {"action":"Restart","exitCodes":{"operator":"In","values":[3]}}]}]})",
       "Failed", failed, true, 3, "Error"},
      {"the policy is missing", "{}", "Running", failed, true, 3, "Error"},
  }));
  INFO("when " << row.when);
  const Pod pod =
      decoded(row.spec, R"({"phase":")" + row.phase +
                            R"(","containerStatuses":[{"name":"c","restartCount":4,"lastState":)" +
                            failed + R"(,"state":)" + row.state + "}]}");
  REQUIRE(pod.containers.size() == 1);
  CHECK(pod.containers[0].terminated == row.terminated);
  CHECK(pod.containers[0].exit_code == row.exit_code);
  CHECK(pod.containers[0].reason == row.reason);
  CHECK(pod.containers[0].restarts == 4);
}

TEST_CASE("a sidecar's rule that restarts all containers restarts the main one", "[kube][pod]") {
  const Pod pod = decoded(
      R"({"restartPolicy":"Never","containers":[{"name":"c"},{"name":"s","restartPolicy":"Never",
          "restartPolicyRules":[{"action":"RestartAllContainers",
                                 "exitCodes":{"operator":"In","values":[7]}}]}]})",
      R"({"phase":"Running","containerStatuses":[
          {"name":"c","state":{"terminated":{"exitCode":1}}},
          {"name":"s","state":{"terminated":{"exitCode":7}}}]})");
  REQUIRE(pod.containers.size() == 2);
  CHECK_FALSE(pod.containers[0].terminated);
  CHECK_FALSE(pod.containers[1].terminated);
}

TEST_CASE("a container ended before the deletion only if it did so in an earlier second",
          "[kube][pod]") {
  struct Row {
    std::string when;
    std::string deletion;  // metadata
    std::string finished_at;
    bool want;
  };
  const auto row = GENERATE(values<Row>({
      {"the pod is not being deleted", "", "10:00:00", false},
      {"it ended before, and had no time left to be given",
       R"("deletionTimestamp":"2026-11-21T10:00:05Z","deletionGracePeriodSeconds":0,)", "10:00:04",
       true},
      {"it ended in the same second",
       R"("deletionTimestamp":"2026-11-21T10:00:05Z","deletionGracePeriodSeconds":0,)", "10:00:05",
       false},
      {"it ended before it was asked to go",
       R"("deletionTimestamp":"2026-11-21T10:00:35Z","deletionGracePeriodSeconds":30,)", "10:00:04",
       true},
      {"it ended within its grace period",
       R"("deletionTimestamp":"2026-11-21T10:00:35Z","deletionGracePeriodSeconds":30,)", "10:00:06",
       false},
  }));
  INFO("when " << row.when);
  const auto pod = decode_pod(
      R"({"status":{"phase":"Failed","containerStatuses":[{"name":"c","state":{"terminated":
            {"exitCode":1,"finishedAt":"2026-11-21T)" +
          row.finished_at + R"(Z"}}}]},"metadata":{)" + row.deletion +
          R"("labels":{"nervexjob-name":"j"},"name":"p"}})",
      kOurs);
  REQUIRE(pod);
  REQUIRE(pod->containers.size() == 1);
  CHECK(pod->containers[0].ended_before_deletion == row.want);
}

TEST_CASE("a few other finalizers are kept of a pod that is being deleted", "[kube][pod]") {
  const auto kept = [](const std::string& more, const std::string& finalizers) {
    const auto pod = decode_pod(
        R"({"metadata":{"name":"p","finalizers":[)" + finalizers + "]" + more + "}}", kOurs);
    REQUIRE(pod);
    return pod->other_finalizers.items();
  };
  using Strings = std::vector<std::string>;
  const std::string ours = R"(,"labels":{"nervexjob-name":"j"})";
  const std::string deleted = R"(,"deletionTimestamp":"2026-11-22T10:00:07Z")";
  const std::string two = R"("ours/tracking","theirs/x","theirs/y")";
  CHECK(kept(ours + deleted, two) == Strings{"theirs/x", "theirs/y"});
  CHECK(kept(ours, two).empty());
  CHECK(kept(deleted, two).empty());
  const std::string many = R"("a/1","a/2","a/3","a/4","a/5")";
  CHECK(kept(ours + deleted, many) == Strings{"a/1", "a/2", "a/3", "a/4"});
  const std::string name(300, 'x');
  CHECK(kept(ours + deleted, '"' + name + '"') ==
        Strings{name.substr(0, kMaxFinalizerLength) + "..."});
}

TEST_CASE("of finalizers only the one that is asked for is decoded", "[kube][pod]") {
  const auto has = [](const std::string& finalizers) {
    const auto pod =
        decode_pod(R"({"metadata":{"name":"p","finalizers":)" + finalizers + "}}", kOurs);
    return pod && pod->has_finalizer;
  };
  CHECK(has(R"(["theirs/x","ours/tracking"])"));
  CHECK_FALSE(has(R"(["theirs/x"])"));
  CHECK_FALSE(has("[]"));
}

TEST_CASE("the order of fields does not matter", "[kube][pod]") {
  const auto pod = decode_pod(
      R"({"status":{"message":"m","containerStatuses":[{"state":{"terminated":{"exitCode":1}},
            "name":"c"}],"phase":"Running"},
          "spec":{"restartPolicy":"Never","nodeName":"n"},
          "metadata":{"labels":{"nervexjob-name":"j"},"name":"p"}})",
      kOurs);
  REQUIRE(pod);
  CHECK(pod->message == "m");
  REQUIRE(pod->containers.size() == 1);
  CHECK(pod->containers[0].terminated);
}

TEST_CASE("decode_pod counts requests as pod_requests does", "[kube][pod]") {
  const auto* const spec = GENERATE(
      R"({"containers":[{"resources":{"requests":{"cpu":"1"},"limits":{"cpu":"4","a.b/c":2}}}]})",
      R"({"containers":[{"resources":{"requests":{"cpu":0.25 , "memory":1e3}}}],
          "initContainers":[{"restartPolicy":"Always","resources":{"requests":{"cpu":"1"}}},
                            {"resources":{"requests":{"cpu":"5"}}}],
          "overhead":{"cpu":"250m"},"resources":{"requests":{"memory":"1Gi"}}})",
      R"({"containers":[{"ports":[{"containerPort":1,"hostPort":80},{"containerPort":2},null,
                                  {"containerPort":53,"hostPort":53,"protocol":"UDP"}]}],
          "initContainers":[{"restartPolicy":"Always","ports":[{"hostPort":81}]},
                            {"ports":[{"hostPort":82}]}]})",
      R"({"containers":7,"initContainers":{},"overhead":[],"resources":"x"})",
      R"({"containers":[null,7,{"resources":null},{"resources":{"requests":{"cpu":null}}}]})");
  INFO(spec);
  CHECK(decoded(spec, "{}").requests == pod_requests(*parse_json(spec)));
}

TEST_CASE("reading a pod costs no more for each host port if it has very many",
          "[kube][pod][slow]") {
  const auto seconds = [](int count) {
    std::string ports;
    for (int i = 1; i <= count; ++i) {
      ports += (i == 1 ? R"({"hostPort":)" : R"(,{"hostPort":)") + std::to_string(i) + "}";
    }
    const std::clock_t begin = std::clock();
    const auto requests = decoded(R"({"containers":[{"ports":[)" + ports + "]}]}", "{}").requests;
    CHECK(requests.get("hostPort:TCP/" + std::to_string(count)) == 1);
    return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  };
  const double few = seconds(6'000);
  const double many = seconds(60'000);
  INFO(few << " s and " << many << " s");
  CHECK(many < 30 * few + 0.1);  // a hundred times, if each one moves the others
}

TEST_CASE("decode_pod refuses anything but a pod", "[kube][pod]") {
  const auto* const text =
      GENERATE("", "null", "[]", "\"x\"", "{}", R"({"metadata":null})", R"({"metadata":{}})",
               R"({"metadata":{"name":"p"},"spec":{)", R"({"metadata":{"name":"p)",
               R"({"metadata":{"name":"p"},"spec":{"nodeName":"\ud800"}})", "\xff\xfe");
  INFO(text);
  const auto got = decode_pod(text, kOurs);
  REQUIRE_FALSE(got);
  CHECK(got.error().code == Code::kInvalid);
}

TEST_CASE("escapes in names and labels are resolved", "[kube][pod]") {
  const auto pod = decode_pod(R"({"metadata":{"\u006eame":"p\u002d1"}})", {});
  REQUIRE(pod);
  CHECK(pod->meta.name == "p-1");
}

TEST_CASE("cutting a pod anywhere is an error or a shorter pod, never a crash",
          "[kube][pod][property]") {
  const std::string whole = testing::golden("kube/pod_running.json");
  int refused = 0;
  for (std::size_t length = 0; length < whole.size() - 1; ++length) {
    if (!decode_pod(std::string_view(whole).substr(0, length), kOurs)) ++refused;
  }
  CHECK(refused >= static_cast<int>(whole.size()) - 2);
}

TEST_CASE("a pod that is resized in place occupies the most of spec and status", "[kube][pod]") {
  struct Row {
    std::string when;
    std::string spec;
    std::string status;
    Resources want;
  };
  const std::string two_cpus =
      R"({"containers":[{"name":"a","resources":{"requests":{"cpu":"2"}}}]})";
  const auto row = GENERATE_COPY(values<Row>({
      {"it shrinks: it has what it had",
       two_cpus,
       R"({"containerStatuses":[{"name":"a","resources":{"requests":{"cpu":"6"}},
                                 "allocatedResources":{"cpu":"2"}}]})",
       {{"cpu", 6000}}},
      {"it shrinks: the kubelet has not yet agreed",
       two_cpus,
       R"({"containerStatuses":[{"name":"a","resources":{"requests":{"cpu":"1"}},
                                 "allocatedResources":{"cpu":"7","memory":"1"}}]})",
       {{"cpu", 7000}, {"memory", 1}}},
      {"it grows: it is given what it asks for",
       two_cpus,
       R"({"containerStatuses":[{"name":"a","resources":{"requests":{"cpu":"1"}},
                                 "allocatedResources":{"cpu":"1"}}]})",
       {{"cpu", 2000}}},
      {"what it asks for was refused for good",
       two_cpus,
       R"({"conditions":[{"type":"PodResizePending","status":"True","reason":"Infeasible"}],
           "containerStatuses":[{"name":"a","resources":{"requests":{"cpu":"1"}},
                                 "allocatedResources":{"cpu":"1"}}]})",
       {{"cpu", 1000}}},
      {"the status does not say what it has",
       two_cpus,
       R"({"containerStatuses":[{"name":"a","allocatedResources":{"cpu":"9"}},
                                {"name":"b","resources":{"requests":{"cpu":"9"}}}]})",
       {{"cpu", 2000}}},
      {"a sidecar shrinks; an init container has ended",
       R"({"containers":[],"initContainers":[
           {"name":"s","restartPolicy":"Always","resources":{"requests":{"cpu":"1"}}},
           {"name":"i","resources":{"requests":{"memory":"1"}}}]})",
       R"({"initContainerStatuses":[{"name":"s","resources":{"requests":{"cpu":"3"}}},
                                    {"name":"i","resources":{"requests":{"memory":"9"}}}]})",
       {{"cpu", 3000}, {"memory", 1}}},
      {"the pod as a whole shrinks",
       R"({"containers":[],"resources":{"requests":{"cpu":"1"}}})",
       R"({"resources":{"requests":{"cpu":"4"}},"allocatedResources":{"cpu":"2"}})",
       {{"cpu", 4000}}},
  }));
  INFO("when " << row.when);
  Resources want = row.want;
  want.set("pods", 1);
  CHECK(decoded(row.spec, row.status).requests == want);
}

TEST_CASE("a pod is named by its namespace's Service if both its names say so", "[kube][pod]") {
  struct Row {
    std::string spec;
    bool want;
  };
  const auto row = GENERATE(values<Row>({
      {R"({"hostname":"p","subdomain":"rl"})", true},
      {R"({"subdomain":"rl"})", false},
      {R"({"hostname":"p"})", false},
      {R"({"hostname":"q","subdomain":"rl"})", false},
      {R"({"hostname":"p","subdomain":"workers"})", false},
      {R"({})", false},
  }));
  INFO("spec " << row.spec);
  const auto pod =
      decode_pod(R"({"spec":)" + row.spec + R"(,"metadata":{"name":"p","namespace":"rl"}})", {});
  REQUIRE(pod);
  CHECK(pod->is_named_by_namespace == row.want);
}

}  // namespace
}  // namespace nervex::kube
