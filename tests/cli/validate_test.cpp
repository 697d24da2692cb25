#include "cli/validate/verdict.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators_all.hpp>

#include "base/text.h"
#include "job/schema/job_schema.h"
#include "schemas/schemas.h"

namespace nervex::cli {
namespace {

constexpr std::string_view kJob = R"(
apiVersion: nervex.sensetime.com/v1alpha1
kind: NerveXJob
metadata: {name: dqn}
spec:
  cleanPodPolicy: hello
  coordinator:
    template:
      spec:
        containers:
        - {name: main, image: i, resources: {limits: {memory: 4GB}}}
)";

constexpr std::string_view kConfig = R"(
apiVersion: nervex.sensetime.com/v1alpha1
kind: AggregatorConfig
metadata: {name: aggregator-config}
spec:
  aggregator:
    template:
      spec:
        containers:
        - {name: main, image: i, resources: {requests: {cpu: 1}}}
)";

std::vector<Finding> judged(const Json& object) {
  static const auto kOfJobs =
      job::make_offline_job_check(schemas::nervex_job(), schemas::pod_template());
  static const auto kOfConfigs =
      job::make_offline_config_check(schemas::aggregator_config(), schemas::pod_template());
  REQUIRE(kOfJobs);
  REQUIRE(kOfConfigs);
  static const auto kOfQueues =
      job::make_offline_plain_check(schemas::queue(), schemas::pod_template());
  REQUIRE(kOfQueues);
  const std::string kind = kube::string_at(object, {"kind"});
  if (kind == "Queue") return judge(object, **kOfQueues);
  return judge(object, kind == "AggregatorConfig" ? **kOfConfigs : **kOfJobs);
}

std::vector<Verdict> validate_text(std::string_view text) {
  std::vector<Verdict> verdicts;
  const auto manifests = parse_manifests(text);
  REQUIRE(manifests);
  for (const auto& [object, line] : *manifests) {
    verdicts.push_back({"job.yaml", line, kube::string_at(object, {"kind"}),
                        kube::string_at(object, {"metadata", "name"}), judged(object)});
  }
  return verdicts;
}

}  // namespace

TEST_CASE("a file of YAML or JSON is read as kubectl reads it", "[cli][validate]") {
  const auto manifests = parse_manifests(
      "# nothing\n---\na: 8080\nb: '8080'\nc: yes\nd: \"yes\"\ne: 0644\nf: 1.5\ng: 1Gi\nh: ~\n"
      "i: -3\nj: 0x10\nk: y\nl: N\nm: 1_000\ns: 0b11\no: 2.0\np: 1e1\nq: 'n'\nr: _1\ny: 1\n0x11: "
      "a\n---\n{\"kind\": \"List\", \"items\": [{\"a\": 1}, {\"a\": 2}]}\n");
  REQUIRE(manifests);
  REQUIRE(manifests->size() == 3);
  CHECK((*manifests)[0].object ==
        Json({{"a", 8080}, {"b", "8080"}, {"c", true},    {"d", "yes"}, {"e", 420},
              {"f", 1.5},  {"g", "1Gi"},  {"h", nullptr}, {"i", -3},    {"j", 16},
              {"k", true}, {"l", false},  {"m", 1000},    {"s", 3},     {"o", 2},
              {"p", 10},   {"q", "n"},    {"r", "_1"},    {"true", 1},  {"17", "a"}}));
  CHECK((*manifests)[0].object["o"].is_number_integer());
  CHECK((*manifests)[0].object["p"].is_number_integer());
  CHECK((*manifests)[2].object == Json({{"a", 2}}));
}

TEST_CASE("lists of any kind are split into items", "[cli][validate]") {
  const auto manifests = parse_manifests(
      "kind: NerveXJobList\nitems: [{a: 1}, {a: 2}]\n---\nkind: List\nitems: 7\n---\nkind: List\n");
  REQUIRE(manifests);
  REQUIRE(manifests->size() == 4);
  CHECK((*manifests)[1].object == Json({{"a", 2}}));
  CHECK((*manifests)[2].object["kind"] == "List");  // is said to be passed over
}

TEST_CASE("merge keys of YAML are followed", "[cli][validate]") {
  const auto manifests = parse_manifests(
      "base: &base {image: i, cpu: 1, env: {a: 1}}\n"
      "more: &more {cpu: 2, memory: 3}\n"
      "one: {<<: *base, cpu: 5}\n"
      "own-first: {cpu: 6, <<: *base}\n"
      "several: {<<: [*base, *more], name: x}\n"
      "nested: {<<: {<<: *more, memory: 4}}\n"
      "text: {'<<': x}\n");
  REQUIRE(manifests);
  const Json& object = manifests->at(0).object;
  CHECK(object["one"] == Json({{"image", "i"}, {"cpu", 5}, {"env", {{"a", 1}}}}));
  CHECK(object["own-first"]["cpu"] == 6);
  CHECK(object["several"] ==
        Json({{"image", "i"}, {"cpu", 1}, {"env", {{"a", 1}}}, {"memory", 3}, {"name", "x"}}));
  CHECK(object["nested"] == Json({{"cpu", 2}, {"memory", 4}}));
  CHECK(object["text"] == Json({{"<<", "x"}}));

  const auto wrong = parse_manifests("a: 1\nb: {<<: 5}\n");
  REQUIRE_FALSE(wrong);
  CHECK(wrong.error().message.starts_with("line 2, "));
}

TEST_CASE("a duplicate key is refused with its line", "[cli][validate]") {
  const auto twice = parse_manifests("a: 1\nb:\n  c: 1\n  c: 2\n");
  REQUIRE_FALSE(twice);
  CHECK(twice.error().message.starts_with("line 4, "));
  CHECK(twice.error().message.find("duplicate key c") != std::string::npos);
  CHECK(parse_manifests("base: &base {c: 1}\nb: {<<: *base, c: 2}\n"));
}

TEST_CASE("a Queue is checked as the API server and the extender do", "[cli][validate]") {
  const std::string head =
      "apiVersion: nervex.sensetime.com/v1alpha1\nkind: Queue\nmetadata: {name: vision, "
      "labels: {team: a}}\nspec: ";
  const auto findings_of = [&](const std::string& spec) {
    const auto manifests = parse_manifests(head + spec);
    REQUIRE(manifests);
    REQUIRE(is_judged(manifests->at(0).object));
    return judged(manifests->at(0).object);
  };
  CHECK(findings_of("{weight: 2, quota: [{resources: {cpu: '1.5', nvidia.com/gpu: 8}}]}").empty());
  struct Row {
    std::string spec;
    Finding want;
  };
  for (const auto& [spec, want] : std::vector<Row>{
           {"{quota: [{resources: {cpu: 1.5}}]}",
            {"spec.quota[0].resources[cpu]",
             "Invalid value: 1.5: must be an integer or a string: write it in quotes"}},
           {"{limit: [{resources: {nvidia.com/gpu: 500m}}]}",
            {"spec.limit[0].resources[nvidia.com/gpu]", "Invalid value: must be a whole number"}},
           {"{limit: [{resources: {cpu: many}}]}",
            {"spec.limit[0].resources[cpu]", "Invalid value: "}},
           {"{parent: vision}",
            {"spec.parent", "Invalid value: \"vision\": a queue is not its own parent"}},
           {"{limit: [{resources: {cpu: 1}}, {resources: {cpu: 2}}]}",
            {"spec.limit[1].nodeClass", "Invalid value: a second entry without a class"}},
           {"{wieght: 2}", {"spec.wieght", ""}}}) {
    INFO(spec);
    const auto findings = findings_of(spec);
    REQUIRE(findings.size() == 1);
    CHECK(findings[0].field == want.field);
    CHECK(findings[0].message.starts_with(want.message));
  }
  CHECK_FALSE(is_judged({{"apiVersion", "scheduling.volcano.sh/v1beta1"}, {"kind", "Queue"}}));
}

TEST_CASE("a whole number is an integer, in YAML and in JSON", "[cli][validate]") {
  for (const char* text : {"{a: 36.0, b: [1.5]}", "{\t\"a\": 36.0,\n\t\"b\": [1.5]}"}) {
    INFO(text);
    const auto manifests = parse_manifests(text);
    REQUIRE(manifests);
    const Json& object = manifests->at(0).object;
    CHECK(object["a"].is_number_integer());
    CHECK(object["b"][0].is_number_float());
  }
}

TEST_CASE("files without a job say which kinds were seen", "[cli][validate]") {
  const std::string none = "no NerveXJob, AggregatorConfig, Queue found";
  CHECK(nothing_to_judge({}) == none + ": there are no objects");
  CHECK(nothing_to_judge({"Service", "ConfigMap", "Service"}) ==
        none + ", only ConfigMap, Service");
  CHECK(nothing_to_judge({"NerveXjob"}) ==
        none + ", only NerveXjob: did you mean kind: NerveXJob?");
  CHECK(nothing_to_judge({"AggregatorConfigs"}) ==
        none + ", only AggregatorConfigs: did you mean kind: AggregatorConfig?");
}

TEST_CASE("files from other systems are read, too", "[cli][validate]") {
  const Json want = {{"a", {{"b", "\u00e9"}}}};
  struct Row {
    std::string when;
    std::string text;
  };
  const auto row = GENERATE(values<Row>({
      {"it has a mark of its bytes' order",
       "\xEF\xBB\xBF"
       "a:\n  b: \xC3\xA9\n"},
      {"its lines end as on Windows", "a:\r\n  b: \xC3\xA9\r\n"},
      {"it is UTF-16", std::string("\xFF\xFE"
                                   "a\0:\0 \0{\0"
                                   "b\0:\0 \0\xE9\0}\0",
                                   20)},
      {"it is JSON with tabs", "{\n\t\"a\": {\n\t\t\"b\": \"\xC3\xA9\"\n\t}\n}\n"},
      {"it is JSON with escapes", R"({"a": {"b": "\u00e9"}})"},
  }));
  INFO("when " << row.when);
  const auto manifests = parse_manifests(row.text);
  REQUIRE(manifests);
  REQUIRE(manifests->size() == 1);
  CHECK((*manifests)[0].object == want);
}

TEST_CASE("JSON that YAML does not have is read", "[cli][validate]") {
  const auto manifests = parse_manifests(R"({"a": "\ud83d\ude00"})");
  REQUIRE(manifests);
  CHECK(manifests->at(0).object == Json({{"a", "\U0001F600"}}));
}

TEST_CASE("a text that is not a manifest is refused with a guess of what it is",
          "[cli][validate]") {
  struct Row {
    std::string when;
    std::string text;
    std::string want;  // a part of the message
    int line;
  };
  const auto row = GENERATE(values<Row>({
      {"it is a template", "a: 1\nb: {{ .Values.b }}\n", "helm template", 2},
      {"it is a template of blocks", "{{- if .Values.b }}\na: 1\n{{- end }}\n", "helm template", 1},
      {"it is indented by tabs", "a:\n\tb: 1\n\tc: 2\n", "not with tabs", 2},
      {"it is of Latin-1", "a: 1\nb: \xE9\n", "byte 0xE9 is not valid UTF-8", 2},
      {"it ends within a character", "a: \xC3", "byte 0xC3 is not valid UTF-8", 1},
      {"it is a program",
       std::string("\x7F"
                   "ELF\0\0",
                   6),
       "byte 0x00 is not valid UTF-8", 1},
      {"it is too deep", std::string(5000, '['), "more than 200 levels deep", 0},
  }));
  INFO("when " << row.when);
  int line = 0;
  const auto manifests = parse_manifests(row.text, &line);
  REQUIRE_FALSE(manifests);
  INFO(manifests.error().message);
  CHECK(manifests.error().message.find(row.want) != std::string::npos);
  CHECK(line == row.line);
}

TEST_CASE("a JSON array of jobs is reported, other arrays are ignored", "[cli][validate]") {
  const Json jobs = Json::array({{{"kind", "NerveXJob"}}});
  const auto finding = judge_kind(jobs);
  REQUIRE(finding);
  CHECK(finding->is_error);
  CHECK(finding->message.find("kind: List") != std::string::npos);
  CHECK_FALSE(judge_kind(Json::array({1, 2})));
  CHECK_FALSE(judge_kind("text"));
  CHECK(describe_kind(jobs) == "a list");
  CHECK(describe_kind("text") == "plain text");
  CHECK(describe_kind(Json::object()) == "an object without a kind");
  CHECK(describe_kind({{"kind", "Service"}}) == "Service");
}

TEST_CASE("invalid YAML is reported with its line", "[cli][validate]") {
  const auto broken = parse_manifests("a: 1\nb: [1\nc: 2\n");
  REQUIRE_FALSE(broken);
  CHECK(broken.error().message.starts_with("line "));
  int line = 0;
  CHECK_FALSE(parse_manifests("a: 1\nb:\n  c: 1\n  c: 2\n", &line));
  CHECK(line == 4);
}

TEST_CASE("anchors cannot fill the memory", "[cli][validate]") {
  std::string text = "a0: &a0 [1,1,1,1,1,1,1,1,1,1]\n";
  for (int i = 1; i < 12; ++i) {
    text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int j = 0; j < 10; ++j) text += (j ? ",*a" : "*a") + std::to_string(i - 1);
    text += "]\n";
  }
  CHECK_FALSE(parse_manifests(text));
}

TEST_CASE("the verdict names each wrong field, as text, JSON and SARIF", "[cli][validate]") {
  const auto verdicts = validate_text(kJob);
  CHECK(has_errors(verdicts));
  CHECK(to_text(verdicts, Format::kText) ==
        "job.yaml:2: dqn: spec.cleanPodPolicy: Unsupported value: \"hello\": supported values: "
        "\"All\", \"None\", \"Running\" (Invalid CleanPodPolicy)\n"
        "job.yaml:2: dqn: spec.coordinator.template.spec.containers[0].resources.limits[memory]: "
        "Invalid value: \"4GB\": must be a quantity such as 500m, 2 or 4Gi: did you "
        "mean 4G or 4Gi?\n"
        "0 of 1 jobs is valid\n");
  const Json json = Json::parse(to_text(verdicts, Format::kJson));
  CHECK(json[0]["valid"] == false);
  CHECK(json[0]["findings"][0]["field"] == "spec.cleanPodPolicy");
  const Json sarif = Json::parse(to_text(verdicts, Format::kSarif));
  CHECK(sarif["version"] == "2.1.0");
  const Json& result = sarif["runs"][0]["results"][1];
  CHECK(result["level"] == "error");
  CHECK(result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "job.yaml");
  CHECK(result["locations"][0]["physicalLocation"]["region"]["startLine"] == 2);
}

TEST_CASE("a valid job has no errors, also without the defaults", "[cli][validate]") {
  std::string text(kJob);
  text.replace(text.find("hello"), 5, "ALL");
  text.replace(text.find("4GB"), 3, "4Gi");
  const auto verdicts = validate_text(text);
  CHECK_FALSE(has_errors(verdicts));
  CHECK(to_text(verdicts, Format::kText) ==
        "job.yaml:2: dqn: warning: spec.cleanPodPolicy: ALL is stored as All: tools that compare "
        "it with a file see a difference\n1 of 1 jobs is valid\n");
}

TEST_CASE("warnings name their field and are no errors, in each format", "[cli][validate]") {
  std::string text(kJob);
  text.replace(text.find("hello"), 5, "ALL");
  text.replace(text.find("4GB"), 3, "4Gi");
  Json job = parse_manifests(text)->at(0).object;
  Json& pod = job["spec"]["coordinator"]["template"]["spec"];
  pod["schedulerName"] = "x";
  pod["containers"][0]["env"] = Json::array({{{"name", "WORLD_SIZE"}, {"value", "1"}}});
  const std::string where = "spec.coordinator.template.spec.";
  const std::vector<Finding> want{
      {"spec.cleanPodPolicy",
       "ALL is stored as All: tools that compare it with a file see a difference", false},
      {where + "containers[0].env[0]", "WORLD_SIZE may be set by the controller", false},
      {where + "schedulerName", "replaced by nervex-scheduler", false}};
  CHECK(judged(job) == want);
  const std::vector<Verdict> verdicts{{"job.yaml", 2, "NerveXJob", "dqn", want}};
  CHECK_FALSE(has_errors(verdicts));
  const Json json = Json::parse(to_text(verdicts, Format::kJson));
  CHECK(json[0]["valid"] == true);
  CHECK(json[0]["findings"][2] == Json({{"severity", "warning"},
                                        {"field", where + "schedulerName"},
                                        {"message", "replaced by nervex-scheduler"}}));
  const Json sarif = Json::parse(to_text(verdicts, Format::kSarif));
  const Json& result = sarif["runs"][0]["results"][2];
  CHECK(result["level"] == "warning");
  CHECK(result["ruleId"] == "doubtful-object");
  CHECK(result["locations"][0]["logicalLocations"][0]["fullyQualifiedName"] ==
        "dqn." + where + "schedulerName");
}

TEST_CASE("a warning's field is parsed from its text", "[cli][validate]") {
  CHECK(parse_warning("spec.reservationSeconds: with 0, capacity") ==
        Finding{"spec.reservationSeconds", "with 0, capacity", false});
  for (const char* text : {"only nervex-server may change spec.requests: the change was ignored",
                           "no AggregatorConfig a/b: the job waits", "spec.x", "", ": "}) {
    CHECK(parse_warning(text) == Finding{"", text, false});
  }
}

TEST_CASE("a server's warnings are shown once and complete", "[cli][validate]") {
  const std::string text = "spec.learner.template: needs 8 nvidia.com/gpu, the largest node has 4";
  std::vector<std::string> lines = wrap_text(text, 30, 9);
  REQUIRE(lines.size() == 3);
  lines.insert(lines.begin(), "first...");  // cut, not broken
  lines.insert(lines.end(), {"...", "first..."});
  CHECK(parse_warning_lines(lines) ==
        std::vector<Finding>{{"", "first...", false}, parse_warning(text), {"", "...", false}});
  CHECK(parse_warning_lines({}).empty());
}

TEST_CASE("unchecked objects are listed beside the verdicts, in each format", "[cli][validate]") {
  std::vector<Verdict> verdicts{
      {"a b/a.json", 1, "NerveXJob", "dqn", {{"spec.group", "Invalid value"}}},
      {"b.yaml", 3, "", "", {}, "line 3, column 5: bad"},
      {"/c.yaml", 1, "NerveXJob", "c", {}, "the API server is away"}};
  CHECK(has_unchecked(verdicts));
  CHECK(to_text(verdicts, Format::kText) ==
        "a b/a.json:1: dqn: spec.group: Invalid value\n"
        "b.yaml: not checked: line 3, column 5: bad\n"
        "/c.yaml:1: c: not checked: the API server is away\n"
        "0 of 1 jobs is valid; not checked: b.yaml, /c.yaml: c\n");
  const Json json = Json::parse(to_text(verdicts, Format::kJson));
  REQUIRE(json.size() == 3);
  CHECK(json[1] ==
        Json({{"file", "b.yaml"},
              {"line", 3},
              {"kind", ""},
              {"name", ""},
              {"valid", nullptr},
              {"findings", Json::array({{{"severity", "error"},
                                         {"field", ""},
                                         {"message", "not checked: line 3, column 5: bad"}}})}}));
  const Json run = Json::parse(to_text(verdicts, Format::kSarif))["runs"][0];
  CHECK(run["invocations"][0]["executionSuccessful"] == false);
  const auto uri = [](const Json& result) {
    return result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"];
  };
  CHECK(uri(run["results"][0]) == "a%20b/a.json");
  CHECK(run["results"][1]["ruleId"] == "not-checked");
  CHECK(run["results"][1]["locations"][0]["physicalLocation"]["region"]["startLine"] == 3);
  CHECK(uri(run["results"][2]) == "file:///c.yaml");

  const auto is_complete = [](const std::vector<Verdict>& all) {
    return Json::parse(to_text(
               all, Format::kSarif))["runs"][0]["invocations"][0]["executionSuccessful"] == true;
  };
  CHECK(is_complete({verdicts[0]}));
  CHECK_FALSE(is_complete({}));  // nothing was looked at

  verdicts.assign(7, {"x.yaml", 1, "", "", {}, "gone"});
  CHECK(to_text(verdicts, Format::kText)
            .ends_with("0 of 0 jobs are valid; not checked: x.yaml, x.yaml, x.yaml, x.yaml, x.yaml "
                       "and 2 more\n"));
}

TEST_CASE("misspelt fields and wrong types are found without a cluster", "[cli][validate]") {
  struct Row {
    std::string when;
    std::string patch;
    std::vector<Finding> want;
  };
  const auto row = GENERATE(values<Row>({
      {"nothing is wrong", "[]", {}},
      {"a field of the spec is misspelt",
       R"([{"op": "add", "path": "/spec/backofLimit", "value": 3}])",
       {{"spec.backofLimit",
         "Forbidden: unknown field `backofLimit`, did you mean `backoffLimit`?"}}},
      {"a field of a role is misspelt",
       R"([{"op": "add", "path": "/spec/collector", "value": {"replica": 0}}])",
       {{"spec.collector.replica",
         "Forbidden: unknown field `replica`, did you mean `replicas`?"}}},
      {"a field of the job is misspelt",
       R"([{"op": "add", "path": "/metdata", "value": {}}])",
       {{"metdata", "Forbidden: unknown field `metdata`, did you mean `metadata`?"}}},
      {"a type is wrong",
       R"([{"op": "add", "path": "/spec/group", "value": 7}])",
       {{"spec.group", "Invalid value: 7: must be a string: write it in quotes"}}},
      {"a field of metadata is misspelt",
       R"([{"op": "add", "path": "/metadata/lables", "value": {"a": "b"}}])",
       {{"metadata.lables",
         "Forbidden: unknown field `lables`, did you mean `labels`? (not in Kubernetes 1.36; "
         "--server asks your cluster)"}}},
      {"labels and the namespace are none",
       R"([{"op": "add", "path": "/metadata/labels", "value": {"b c": "x"}},
           {"op": "add", "path": "/metadata/namespace", "value": "N G"}])",
       {{"metadata.namespace",
         "Invalid value: \"N G\": a lowercase RFC 1123 label must consist of lower case "
         "alphanumeric characters or '-', and must start and end with an alphanumeric character"},
        {"metadata.labels",
         "Invalid value: \"b c\": name part must consist of alphanumeric characters, '-', '_' or "
         "'.', and must start and end with an alphanumeric character"}}},
      {"metadata is what a cluster has stored",
       R"([{"op": "add", "path": "/metadata/creationTimestamp", "value": null},
           {"op": "add", "path": "/metadata/uid", "value": "4f"},
           {"op": "add", "path": "/metadata/generation", "value": 3},
           {"op": "add", "path": "/metadata/managedFields",
            "value": [{"manager": "kubectl", "operation": "Update", "fieldsType": "FieldsV1",
                       "time": "2026-11-22T14:03:12Z", "fieldsV1": {"f:spec": {".": {}}}}]}])",
       {}},
      {"fields of templates and volumes are misspelt, or newer than nervexctl",
       R"([{"op": "add", "path": "/spec/coordinator/template/spec/hostNetwrk", "value": true},
           {"op": "add", "path": "/spec/volumes", "value": [{"name": "a", "emptyDir": {"new": 1}}]}])",
       {{"spec.coordinator.template.spec.hostNetwrk",
         "Forbidden: unknown field `hostNetwrk`, did you mean `hostNetwork`? (not in Kubernetes "
         "1.36; --server asks your cluster)"},
        {"spec.volumes[0].emptyDir.new",
         "Forbidden: unknown field `new` (not in Kubernetes 1.36; --server asks your cluster)"}}},
      {"a field of a template stands one level too high",
       R"([{"op": "add", "path": "/spec/coordinator/template/spec/command", "value": ["true"]}])",
       {{"spec.coordinator.template.spec.command",
         "Forbidden: unknown field `command`: it belongs at template.spec.containers[].command"}}},
      {"a type in a template is wrong",
       R"([{"op": "add", "path": "/spec/coordinator/template/spec/hostNetwork", "value": "yes"}])",
       {{"spec.coordinator.template.spec.hostNetwork",
         "Invalid value: \"yes\": must be a boolean"}}},
      {"it is a job as the cluster stores it",
       R"([{"op": "add", "path": "/status", "value": {"phase": "Running", "new": 1}},
           {"op": "add", "path": "/spec/requests", "value": {"entries": []}}])",
       {{"", "only nervex-server may change spec.requests: the change was ignored", false}}},
      {"its version is of another group",
       R"([{"op": "replace", "path": "/apiVersion", "value": "batch/v2"}])",
       {{"apiVersion",
         "Unsupported value: \"batch/v2\": the apiVersion of a NerveXJob is "
         "nervex.sensetime.com/v1alpha1"}}},
      {"its version does not exist",
       R"([{"op": "replace", "path": "/apiVersion", "value": "nervex.sensetime.com/v1beta1"}])",
       {{"apiVersion",
         "Unsupported value: \"nervex.sensetime.com/v1beta1\": the apiVersion of a NerveXJob is "
         "nervex.sensetime.com/v1alpha1"}}},
      {"it has no version",
       R"([{"op": "remove", "path": "/apiVersion"}])",
       {{"apiVersion", "Required value: must be nervex.sensetime.com/v1alpha1"}}},
      {"its version is a number",
       R"([{"op": "replace", "path": "/apiVersion", "value": 1}])",
       {{"apiVersion", "Invalid value: 1: must be a string: write it in quotes"}}},
  }));
  INFO("when " << row.when);
  Json job = parse_manifests(kJob)->at(0).object;
  job["spec"].erase("cleanPodPolicy");
  job["spec"]["coordinator"]["template"]["spec"]["containers"][0]["resources"]["limits"] = {
      {"memory", "4Gi"}};
  CHECK(judged(job.patch(Json::parse(row.patch))) == row.want);
}

TEST_CASE("a misspelt kind is reported, also beside a valid job", "[cli][validate]") {
  const auto kind = [](const char* version, const char* name) {
    return judge_kind({{"apiVersion", version}, {"kind", name}});
  };
  const std::string ours = "nervex.sensetime.com/v1alpha1";
  const std::string guess = "unknown kind NerveXjob: did you mean NerveXJob?";
  CHECK(kind(ours.c_str(), "NerveXjob") == Finding{"kind", guess});  // no API has such a kind
  CHECK(kind("acme.com/v1", "NerveXjob") == Finding{"kind", guess, false});
  CHECK_FALSE(kind(ours.c_str(), "AggregatorConfig"));
  CHECK_FALSE(kind(ours.c_str(), "Queue"));
  CHECK_FALSE(kind("scheduling.volcano.sh/v1beta1", "Queue"));
  CHECK_FALSE(kind("acme.com/v1", "Query"));
  for (const char* other : {"PodGroup", "Simulation"}) {
    CHECK_FALSE(kind(ours.c_str(), other));
  }
  const std::string supported = "supported values: \"NerveXJob\", \"AggregatorConfig\", \"Queue\"";
  CHECK(kind(ours.c_str(), "Job") == Finding{"kind", "Unsupported value: \"Job\": " + supported});
  CHECK(judge_kind({{"apiVersion", ours}, {"kind", Json::array({1})}}) ==
        Finding{"kind", "Unsupported value: [...]: " + supported});
  CHECK(judge_kind({{"apiVersion", ours}}) == Finding{"kind", "Required value"});
  CHECK(kind(ours.c_str(), "AgregatorConfig") ==
        Finding{"kind", "unknown kind AgregatorConfig: did you mean AggregatorConfig?"});
  CHECK_FALSE(kind("v1", "ConfigMap"));
  CHECK_FALSE(kind("v1", ""));

  // Another's kind is not counted among the jobs.
  std::vector<Verdict> verdicts{{"a.yaml", 1, "NerveXJob", "dqn", {}},
                                {"a.yaml", 9, "NerveXjob", "x", {{"kind", guess, false}}}};
  CHECK_FALSE(has_errors(verdicts));
  CHECK(to_text(verdicts, Format::kText) ==
        "a.yaml:9: x: warning: kind: " + guess + "\n1 of 1 jobs is valid\n");
  verdicts[1].findings[0].is_error = true;
  CHECK(to_text(verdicts, Format::kText) ==
        "a.yaml:9: x: kind: " + guess + "\n1 of 2 objects are valid\n");
}

TEST_CASE("an AggregatorConfig is checked by its template", "[cli][validate]") {
  struct Row {
    std::string when;
    std::string patch;
    std::vector<Finding> want;
  };
  const auto row = GENERATE(values<Row>({
      {"nothing is wrong", "[]", {}},
      {"a field is misspelt",
       R"([{"op": "add", "path": "/spec/agregator", "value": {}}])",
       {{"spec.agregator", "Forbidden: unknown field `agregator`, did you mean `aggregator`?"}}},
      {"it has what a job may have",
       R"([{"op": "add", "path": "/spec/requests", "value": {}}])",
       {{"spec.requests", "Forbidden: unknown field `requests`"}}},
      {"there is no template",
       R"([{"op": "remove", "path": "/spec/aggregator/template"}])",
       {{"spec.aggregator.template", "Required value"}}},
      {"a field of the template is misspelt",
       R"([{"op": "add", "path": "/spec/aggregator/template/spec/hostNetwrk", "value": true}])",
       {{"spec.aggregator.template.spec.hostNetwrk",
         "Forbidden: unknown field `hostNetwrk`, did you mean `hostNetwork`? (not in Kubernetes "
         "1.36; --server asks your cluster)"}}},
      {"a quantity is none",
       R"([{"op": "add", "path": "/spec/aggregator/template/spec/containers/0/resources",
            "value": {"limits": {"memory": "4GB"}}}])",
       {{"spec.aggregator.template.spec.containers[0].resources.limits[memory]",
         "Invalid value: \"4GB\": must be a quantity such as 500m, 2 or 4Gi: did "
         "you mean 4G or 4Gi?"}}},
      {"its version does not exist",
       R"([{"op": "replace", "path": "/apiVersion", "value": "nervex.sensetime.com/v1"}])",
       {{"apiVersion",
         "Unsupported value: \"nervex.sensetime.com/v1\": the apiVersion of a AggregatorConfig is "
         "nervex.sensetime.com/v1alpha1"}}},
      {"it has no name",
       R"([{"op": "remove", "path": "/metadata"}])",
       {{"metadata.name", "Required value: or generateName"}}},
      {"its name is none",
       R"([{"op": "replace", "path": "/metadata/name", "value": "UPPER/slash"}])",
       {{"metadata.name",
         "Invalid value: \"UPPER/slash\": a lowercase RFC 1123 subdomain must consist of lower "
         "case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric "
         "character"}}},
      {"its name is made of a prefix",
       R"([{"op": "replace", "path": "/metadata", "value": {"generateName": "aggregator-"}}])",
       {}},
      {"it is one as the cluster stores it",
       R"([{"op": "add", "path": "/status", "value": {"conditions": [], "new": 1}}])",
       {}},
  }));
  INFO("when " << row.when);
  const Json config = parse_manifests(kConfig)->at(0).object;
  CHECK(judged(config.patch(Json::parse(row.patch))) == row.want);
}

TEST_CASE("jobs and other objects are counted together", "[cli][validate]") {
  auto verdicts = validate_text(kConfig);
  CHECK(to_text(verdicts, Format::kText) == "1 of 1 objects is valid\n");
  CHECK(Json::parse(to_text(verdicts, Format::kJson))[0]["kind"] == "AggregatorConfig");
}

TEST_CASE("a refusal by the server gives its causes; other errors are no verdict",
          "[cli][validate]") {
  const std::string body =
      R"({"message": "all", "details": {"causes": [{"field": "spec.a", "message": "Required value"}]}})";
  CHECK(findings_of_refusal(422, body) == std::vector<Finding>{{"spec.a", "Required value"}});
  CHECK(findings_of_refusal(400, R"({"message": "strict decoding error"})") ==
        std::vector<Finding>{{"", "strict decoding error"}});
  CHECK_FALSE(findings_of_refusal(403, body));
  CHECK_FALSE(findings_of_refusal(500, "x"));
}

}  // namespace nervex::cli
