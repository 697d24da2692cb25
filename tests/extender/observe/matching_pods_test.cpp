// Pods of all owners that the topology spread constraints of a gang count.
#include "extender/observe/parts/matching_pods.h"

#include <catch2/catch_test_macros.hpp>

#include "tests/extender/cluster.h"

namespace nervex::extender {
namespace {

const kube::PodSelector kSelector =
    kube::make_pod_selector("team-a", R"([{"key":"app","operator":"In","values":["rl"]}])");
const std::string kCounter = kSelector.counter;

struct Counted {
  NodeTable nodes;
  kube::Store<kube::Pod> pods;
  MatchingPods matching{nodes, pods};

  kube::Pod make(const std::string& uid, const std::string& node, const std::string& app = "rl") {
    kube::Pod pod;
    pod.meta.ns = "team-a";
    pod.meta.name = uid;
    pod.meta.uid = uid;
    pod.meta.labels["app"] = app;
    pod.node = node;
    pod.phase = kube::PodPhase::kRunning;
    return pod;
  }
  // As the watch reports it.
  bool set(kube::Pod pod) {
    const std::string key = pod.meta.key();
    const auto [before, after] = pods.exchange(key, std::move(pod));
    return matching.pod_changed(before, after);
  }
  bool erase(const std::string& uid) {
    return matching.pod_changed(pods.erase("team-a/" + uid), nullptr);
  }
  std::int64_t count(const std::string& node) {
    kube::Node made;
    made.name = node;
    nodes.set_node(node, std::make_shared<const kube::Node>(made));
    return -nodes.cluster().free(*nodes.cluster().find(node), kCounter);
  }
};

TEST_CASE("pods count while a gang wants them counted", "[extender][spread]") {
  Counted c;
  CHECK_FALSE(c.set(c.make("before", "n1")));
  c.matching.set_selectors("group", {kSelector, kSelector});
  CHECK(c.count("n1") == 1);
  CHECK(c.set(c.make("after", "n1")));
  CHECK(c.count("n1") == 2);
  c.matching.set_selectors("other", {kSelector});
  c.matching.set_selectors("group", {});
  CHECK(c.count("n1") == 2);
  c.matching.set_selectors("other", {});
  CHECK(c.count("n1") == 0);
  CHECK(c.erase("after") == false);
}

TEST_CASE("a pod counts on its node until it ends or is deleted", "[extender][spread]") {
  Counted c;
  c.matching.set_selectors("group", {kSelector});
  CHECK_FALSE(c.set(c.make("p", "")));  // not bound
  CHECK(c.set(c.make("p", "n1")));
  CHECK_FALSE(c.set(c.make("p", "n1")));  // the same again
  CHECK(c.count("n1") == 1);
  SECTION("it is being deleted") {
    kube::Pod pod = c.make("p", "n1");
    pod.meta.deleting = true;
    CHECK(c.set(pod));
  }
  SECTION("it has finished") {
    kube::Pod pod = c.make("p", "n1");
    pod.phase = kube::PodPhase::kSucceeded;
    CHECK(c.set(pod));
  }
  SECTION("its labels change") { CHECK(c.set(c.make("p", "n1", "other"))); }
  SECTION("it is deleted") { CHECK(c.erase("p")); }
  CHECK(c.count("n1") == 0);
}

TEST_CASE("pods of other namespaces and other labels do not count", "[extender][spread]") {
  Counted c;
  c.matching.set_selectors("group", {kSelector});
  CHECK_FALSE(c.set(c.make("p", "n1", "other")));
  kube::Pod pod = c.make("q", "n1");
  pod.meta.ns = "team-b";
  CHECK_FALSE(c.set(pod));
  CHECK(c.count("n1") == 0);
}

TEST_CASE("selectors beyond the limit of a namespace are not counted, until others go",
          "[extender][spread]") {
  Counted c;
  std::vector<kube::PodSelector> many;
  for (std::size_t i = 0; i < MatchingPods::kMaxSelectors; ++i) {
    const Json requirement{
        {"key", "app"}, {"operator", "NotIn"}, {"values", Json::array({"x" + std::to_string(i)})}};
    many.push_back(kube::make_pod_selector("team-a", kube::to_text(Json::array({requirement}))));
  }
  c.matching.set_selectors("many", many);
  c.matching.set_selectors("group", {kSelector});
  CHECK(c.set(c.make("p", "n1")));
  CHECK(c.count("n1") == 0);
  CHECK(c.matching.list_use(c.make("q", "")).amounts().size() == MatchingPods::kMaxSelectors);
  c.matching.set_selectors("many", {});
  c.matching.set_selectors("other", {kSelector});
  c.matching.set_selectors("group", {});  // it never had one
  CHECK(c.count("n1") == 1);
  c.matching.set_selectors("group", {kSelector});
  c.matching.set_selectors("other", {});
  CHECK(c.count("n1") == 1);
  CHECK(c.set(c.make("p", "n2")));
  CHECK(c.count("n1") == 0);
  CHECK(c.count("n2") == 1);
}

}  // namespace
}  // namespace nervex::extender
