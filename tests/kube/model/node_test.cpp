#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "kube/model/node.h"
#include "tests/support/golden.h"

namespace nervex::kube {
namespace {

constexpr std::int64_t kGi = 1024LL * 1024 * 1024;

TEST_CASE("decode_node reads a node as the API server writes it", "[kube][node][golden]") {
  const auto node = decode_node(testing::golden("kube/node_gpu.json"));
  REQUIRE(node);
  CHECK(node->name == "gpu-07");
  CHECK(node->uid == "2c9a3a1e-2f0a-4b61-a8f0-6d2a7b1f3c55");
  CHECK(node->resource_version == "184470");
  CHECK(node->labels.size() == 3);
  CHECK(node->labels.find("topology.kubernetes.io/zone")->second == "z1");
  CHECK(node->taints == std::vector<Taint>{{"nvidia.com/gpu", "present", "NoSchedule"},
                                           {"node.kubernetes.io/unschedulable", "", "NoSchedule"}});
  CHECK(node->unschedulable);
  CHECK(node->ready);
  CHECK(node->allocatable == Resources{{"cpu", 95'500},
                                       {"ephemeral-storage", 47'093'746'742},
                                       {"memory", 1055 * kGi},
                                       {"nvidia.com/gpu", 8},
                                       {"pods", 110}});
}

TEST_CASE("decode_node treats nulls and wrong types as absent", "[kube][node]") {
  const auto bare = decode_node(R"({"metadata":{"name":"n","labels":null},"spec":null,
      "status":{"allocatable":{"cpu":"?","pods":3},"conditions":[{"type":"Ready","status":"Unknown"}]}})");
  REQUIRE(bare);
  CHECK_FALSE(bare->ready);
  CHECK(bare->allocatable == Resources{{"pods", 3}});
}

TEST_CASE("decode_node refuses anything but a node", "[kube][node]") {
  const auto* const text =
      GENERATE("", "null", "[]", "7", "{}", "{\"metadata\":{}}", "{\"metadata\":{\"name\":\"\"}}",
               "{\"metadata\":{\"name\":\"n\"", "{\"metadata\":{\"name\" \"n\"}}");
  INFO(text);
  const auto got = decode_node(text);
  REQUIRE_FALSE(got);
  CHECK(got.error().code == Code::kInvalid);
}

Node a_node() {
  Node node;
  node.name = "n1";
  node.ready = true;
  node.labels = {{"zone", "z1"}, {"gen", "9"}};
  return node;
}

TEST_CASE("judge follows kube-scheduler's taints and cordons", "[kube][node]") {
  struct Row {
    std::string when;
    std::vector<Taint> taints;
    bool cordoned;
    std::string tolerations;
    NodeFit want;
  };
  const Taint gpu{"gpu", "yes", "NoSchedule"};
  const Taint evict{"gone", "", "NoExecute"};
  const auto row = GENERATE_COPY(values<Row>({
      {"nothing is in the way", {}, false, "[]", NodeFit::kAllowed},
      {"a taint is not tolerated", {gpu}, false, "[]", NodeFit::kTainted},
      {"a preference does not keep pods away",
       {{"gpu", "", "PreferNoSchedule"}},
       false,
       "[]",
       NodeFit::kAllowed},
      {"key, value and effect match",
       {gpu},
       false,
       R"([{"key":"gpu","operator":"Equal","value":"yes","effect":"NoSchedule"}])",
       NodeFit::kAllowed},
      {"no operator means Equal",
       {gpu},
       false,
       R"([{"key":"gpu","value":"yes"}])",
       NodeFit::kAllowed},
      {"the value differs", {gpu}, false, R"([{"key":"gpu","value":"no"}])", NodeFit::kTainted},
      {"the effect differs",
       {gpu},
       false,
       R"([{"key":"gpu","operator":"Exists","effect":"NoExecute"}])",
       NodeFit::kTainted},
      {"Exists takes any value",
       {gpu},
       false,
       R"([{"key":"gpu","operator":"Exists"}])",
       NodeFit::kAllowed},
      {"no key tolerates everything",
       {gpu, evict},
       true,
       R"([{"operator":"Exists"}])",
       NodeFit::kAllowed},
      {"an unknown operator tolerates nothing",
       {gpu},
       false,
       R"([{"key":"gpu","operator":"Near","value":"yes"}])",
       NodeFit::kTainted},
      {"one of two taints is tolerated",
       {gpu, evict},
       false,
       R"([{"key":"gpu","operator":"Exists"}])",
       NodeFit::kTainted},
      {"no key tolerates its own value only",
       {gpu, evict},
       false,
       R"([{"value":"yes"}])",
       NodeFit::kTainted},
      {"an empty operator means Equal, and what is no text is absent",
       {gpu},
       false,
       R"([7, {"key":"gpu","operator":"","value":"yes","effect":null}])",
       NodeFit::kAllowed},
      {"the node is cordoned", {}, true, "[]", NodeFit::kUnschedulable},
      {"the cordon is tolerated",
       {},
       true,
       R"([{"key":"node.kubernetes.io/unschedulable","operator":"Exists"}])",
       NodeFit::kAllowed},
  }));
  INFO("when " << row.when);
  Node node = a_node();
  node.taints = row.taints;
  node.unschedulable = row.cordoned;
  const Json spec = {{"tolerations", *parse_json(row.tolerations)}};
  const NodeConstraints constraints = decode_node_constraints(spec);
  CHECK(judge(node, constraints) == row.want);
  CHECK(judge(node, constraints, ConstraintIndex(constraints)) == row.want);
}

TEST_CASE("judge says not ready before anything else", "[kube][node]") {
  Node node = a_node();
  node.ready = false;
  node.unschedulable = true;
  CHECK(judge(node, {}) == NodeFit::kNotReady);
}

TEST_CASE("judge follows kube-scheduler's node selectors", "[kube][node]") {
  struct Row {
    std::string when;
    std::string terms;  // of nodeSelectorTerms
    bool allowed;
  };
  const auto row = GENERATE(values<Row>({
      {"there are no terms", "[]", true},
      {"the value is listed",
       R"([{"matchExpressions":[{"key":"zone","operator":"In","values":["z0","z1"]}]}])", true},
      {"the value is not listed",
       R"([{"matchExpressions":[{"key":"zone","operator":"In","values":["z0"]}]}])", false},
      {"what is no text is no value",
       R"([{"matchExpressions":[{"key":"gen","operator":"In","values":[9,null,"8"]}]}])", false},
      {"the label is absent",
       R"([{"matchExpressions":[{"key":"x","operator":"In","values":["1"]}]}])", false},
      {"NotIn holds where the label is absent",
       R"([{"matchExpressions":[{"key":"x","operator":"NotIn","values":["1"]}]}])", true},
      {"NotIn fails on a listed value",
       R"([{"matchExpressions":[{"key":"zone","operator":"NotIn","values":["z1"]}]}])", false},
      {"Exists", R"([{"matchExpressions":[{"key":"zone","operator":"Exists"}]}])", true},
      {"DoesNotExist", R"([{"matchExpressions":[{"key":"zone","operator":"DoesNotExist"}]}])",
       false},
      {"Gt compares numbers",
       R"([{"matchExpressions":[{"key":"gen","operator":"Gt","values":["8"]}]}])", true},
      {"Gt is strict", R"([{"matchExpressions":[{"key":"gen","operator":"Gt","values":["9"]}]}])",
       false},
      {"Lt compares numbers",
       R"([{"matchExpressions":[{"key":"gen","operator":"Lt","values":["10"]}]}])", true},
      {"Gt on text never holds",
       R"([{"matchExpressions":[{"key":"zone","operator":"Gt","values":["1"]}]}])", false},
      {"Gt against text never holds",
       R"([{"matchExpressions":[{"key":"gen","operator":"Gt","values":["x"]}]}])", false},
      {"an unknown operator never holds",
       R"([{"matchExpressions":[{"key":"gen","operator":"Near","values":["9"]}]}])", false},
      {"all expressions of a term must hold",
       R"([{"matchExpressions":[{"key":"zone","operator":"Exists"},
                                {"key":"x","operator":"Exists"}]}])",
       false},
      {"one of the terms is enough",
       R"([{"matchExpressions":[{"key":"x","operator":"Exists"}]},
           {"matchExpressions":[{"key":"zone","operator":"Exists"}]}])",
       true},
      {"an empty term selects nothing", "[{}]", false},
      {"the node is meant by name",
       R"([{"matchFields":[{"key":"metadata.name","operator":"In","values":["n1"]}]}])", true},
      {"another node is meant by name",
       R"([{"matchFields":[{"key":"metadata.name","operator":"In","values":["n2"]}]}])", false},
      {"another field is asked for",
       R"([{"matchFields":[{"key":"metadata.uid","operator":"In","values":["n1"]}]}])", false},
      {"expressions and fields must both hold",
       R"([{"matchExpressions":[{"key":"x","operator":"Exists"}],
            "matchFields":[{"key":"metadata.name","operator":"In","values":["n1"]}]}])",
       false},
  }));
  INFO("when " << row.when);
  const Json spec = {{"affinity",
                      {{"nodeAffinity",
                        {{"requiredDuringSchedulingIgnoredDuringExecution",
                          {{"nodeSelectorTerms", *parse_json(row.terms)}}}}}}}};
  const NodeConstraints constraints = decode_node_constraints(spec);
  const NodeFit want = row.allowed ? NodeFit::kAllowed : NodeFit::kNotSelected;
  CHECK(judge(a_node(), constraints) == want);
  CHECK(judge(a_node(), constraints, ConstraintIndex(constraints)) == want);
}

TEST_CASE("judge wants every entry of nodeSelector", "[kube][node]") {
  const auto with = [](Json selector) {
    return decode_node_constraints({{"nodeSelector", selector}});
  };
  CHECK(judge(a_node(), with({{"zone", "z1"}, {"gen", "9"}})) == NodeFit::kAllowed);
  CHECK(judge(a_node(), with({{"zone", "z1"}, {"gen", "8"}})) == NodeFit::kNotSelected);
  CHECK(judge(a_node(), with({{"x", ""}})) == NodeFit::kNotSelected);
  CHECK(decode_node_constraints(Json()) == NodeConstraints{});
}

TEST_CASE("a pod prefers a node by the weights of the terms that it meets", "[kube][node]") {
  const auto prefers = [](int weight, const std::string& key) -> Json {
    return {{"weight", weight},
            {"preference",
             {{"matchExpressions", Json::array({{{"key", key}, {"operator", "Exists"}}})}}}};
  };
  const Json spec{{"affinity",
                   {{"nodeAffinity",
                     {{"preferredDuringSchedulingIgnoredDuringExecution",
                       Json::array({prefers(5, "x"),
                                    prefers(3, "y"),
                                    prefers(1, "z"),
                                    {{"weight", 100}, {"preference", Json::object()}}})}}}}}};
  Node node;
  CHECK(preference(node, decode_node_constraints(spec)) == 0);  // an empty term selects nothing
  node.labels["x"] = "1";
  node.labels["z"] = "1";
  CHECK(preference(node, decode_node_constraints(spec)) == 6);
  CHECK(judge(node, decode_node_constraints(spec)) ==
        judge(node, decode_node_constraints(Json::object())));
}

TEST_CASE("a node evicts a pod whose first matching toleration has a limit", "[kube][node]") {
  struct Row {
    std::string when;
    std::string effect;
    std::string tolerations;
    bool evicts;
  };
  const auto row = GENERATE(values<Row>({
      {"there is a limit", "NoExecute",
       R"([{"key":"x","operator":"Exists","tolerationSeconds":5}])", true},
      {"the limit is 0", "NoExecute", R"([{"operator":"Exists","tolerationSeconds":0}])", true},
      {"there is none", "NoExecute", R"([{"key":"x","value":"1"}])", false},
      {"the limit is null", "NoExecute", R"([{"key":"x","value":"1","tolerationSeconds":null}])",
       false},
      {"the first has none", "NoExecute",
       R"([{"key":"x","value":"1"},{"operator":"Exists","tolerationSeconds":5}])", false},
      {"only the second has none", "NoExecute",
       R"([{"operator":"Exists","tolerationSeconds":5},{"key":"x","value":"1"}])", true},
      {"the limit is for another taint", "NoExecute",
       R"([{"key":"y","operator":"Exists","tolerationSeconds":5},{"operator":"Exists"}])", false},
      {"the effect evicts no pod", "NoSchedule", R"([{"operator":"Exists","tolerationSeconds":5}])",
       false},
      {"it is not tolerated at all", "NoExecute", "[]", false},
  }));
  INFO("when " << row.when);
  Node node = a_node();
  node.taints.push_back({"x", "1", row.effect});
  NodeConstraints constraints;
  constraints.tolerations = *parse_json(row.tolerations);
  CHECK(evicts(node, constraints) == row.evicts);
  CHECK(evicts(node, constraints, ConstraintIndex(constraints)) == row.evicts);
  CHECK((preference(node, constraints) < 0) == row.evicts);
}

TEST_CASE("packed constraints are what was packed", "[kube][node]") {
  const auto parse = [](const char* text) { return *parse_json(text); };
  NodeConstraints all;
  all.node_selector = parse(R"({"zone":"a","text":"\u00e9 \" \n"})");
  all.node_selector_terms = parse(R"([{"matchExpressions":[{"key":"x","operator":"Exists"}]},{}])");
  all.tolerations = parse(R"([{"operator":"Exists","tolerationSeconds":9223372036854775807}])");
  all.preferred_terms = parse(R"([{"weight":1,"preference":{}}])");
  all.volume_terms = parse(R"([[],[{"matchFields":null}]])");
  NodeConstraints one;
  one.tolerations = parse(R"([{"key":"a","value":"b"}])");
  NodeConstraints same;
  same.tolerations = parse(R"([{"value":"b","key":"a"}])");

  CHECK(PackedConstraints(all).unpack() == all);
  CHECK(PackedConstraints(one).unpack() == one);
  CHECK(PackedConstraints(one) == PackedConstraints(same));
  CHECK_FALSE(PackedConstraints(one) == PackedConstraints(all));

  PackedConstraints none{NodeConstraints{}};
  CHECK(none.empty());
  CHECK(none == PackedConstraints());
  CHECK(none.unpack() == NodeConstraints{});
  none.edit([&](NodeConstraints& constraints) { constraints = one; });
  CHECK(none == PackedConstraints(one));
}

TEST_CASE("a pod prefers nodes without PreferNoSchedule taints to those that its terms prefer",
          "[kube][node]") {
  NodeConstraints constraints;
  constraints.preferred_terms = *parse_json(
      R"([{"weight":100,"preference":{"matchExpressions":[{"key":"x","operator":"Exists"}]}}])");
  Node node;
  node.labels["x"] = "1";
  const auto with = [&](const std::vector<Taint>& taints) {
    Node tainted = node;
    for (const Taint& taint : taints) tainted.taints.push_back(taint);
    return preference(tainted, constraints);
  };
  const Taint one{"a", "", "PreferNoSchedule"};
  const Taint other{"b", "", "PreferNoSchedule"};
  CHECK(with({}) == 100);
  CHECK(with({one}) < 0);
  CHECK(with({one, other}) < with({one}));
  constraints.tolerations = *parse_json(R"([{"key":"a","operator":"Exists"}])");
  CHECK(with({one}) == 100);
  CHECK(with({other}) < 0);
  constraints.tolerations[0]["effect"] = "NoSchedule";
  CHECK(with({one}) < 0);
}

}  // namespace
}  // namespace nervex::kube
