#include <catch2/catch_test_macros.hpp>
#include <thread>

#include "kube/model/node.h"
#include "kube/model/pod.h"
#include "kube/store.h"

namespace nervex::kube {
namespace {

Pod a_pod(const std::string& name, const std::string& version, const std::string& node = "") {
  Pod pod;
  pod.meta.ns = "a";
  pod.meta.name = name;
  pod.meta.resource_version = version;
  pod.node = node;
  return pod;
}

std::vector<std::string> names(const std::vector<Store<Pod>::Ptr>& pods) {
  std::vector<std::string> names;
  for (const auto& pod : pods) names.push_back(pod->meta.name);
  return names;
}

TEST_CASE("put returns what was there, get what is there", "[kube][store]") {
  Store<Pod> store;
  CHECK(store.get("a/p") == nullptr);
  CHECK(store.put("a/p", a_pod("p", "1")) == nullptr);
  const auto first = store.get("a/p");
  CHECK(store.put("a/p", a_pod("p", "2")) == first);
  CHECK(store.get("a/p")->meta.resource_version == "2");
  CHECK(first->meta.resource_version == "1");  // readers keep what they took
  CHECK(store.size() == 1);
}

TEST_CASE("an older version never replaces a newer one", "[kube][store]") {
  Store<Pod> store;
  store.put("a/p", a_pod("p", "10"));
  const auto stored = store.get("a/p");
  CHECK(store.put("a/p", a_pod("p", "9")) == stored);
  CHECK(store.get("a/p") == stored);
}

TEST_CASE("the same version again changes nothing", "[kube][store]") {
  Store<Pod> store;
  const auto [nothing, first] = store.exchange("a/p", a_pod("p", "10"));
  const auto [before, after] = store.exchange("a/p", a_pod("p", "10"));
  CHECK(nothing == nullptr);
  CHECK(before == first);
  CHECK(after == first);
}

TEST_CASE("versions that are no numbers are replaced as they come", "[kube][store]") {
  Store<Pod> store;
  store.put("a/p", a_pod("p", "b"));
  store.put("a/p", a_pod("p", "a"));
  CHECK(store.get("a/p")->meta.resource_version == "a");
  store.put("a/p", a_pod("p", ""));
  store.put("a/p", a_pod("p", "", "n"));
  CHECK(store.get("a/p")->node == "n");
}

TEST_CASE("the index follows every change, sorted by key", "[kube][store]") {
  Store<Pod> store([](const Pod& pod) { return pod.node; });
  store.put("a/q", a_pod("q", "1", "n1"));
  store.put("a/p", a_pod("p", "2", "n1"));
  store.put("a/r", a_pod("r", "3"));
  CHECK(names(store.by_index("n1")) == std::vector<std::string>{"p", "q"});
  CHECK(store.by_index("").empty());
  store.put("a/q", a_pod("q", "4", "n2"));
  CHECK(names(store.by_index("n1")) == std::vector<std::string>{"p"});
  CHECK(names(store.by_index("n2")) == std::vector<std::string>{"q"});
  store.put("a/q", a_pod("q", "2", "n1"));  // old
  CHECK(names(store.by_index("n2")) == std::vector<std::string>{"q"});
  store.erase("a/p");
  CHECK(store.by_index("n1").empty());
  CHECK(names(store.all()) == std::vector<std::string>{"q", "r"});
  CHECK(store.keys() == std::vector<std::string>{"a/q", "a/r"});
}

TEST_CASE("erase spares a namesake that was folded in since", "[kube][store]") {
  Store<Pod> store;
  store.put("a/p", a_pod("p", "5"));
  CHECK(store.update("a/p", a_pod("p", "9")));
  CHECK(store.erase("a/p", "7") == nullptr);
  CHECK(store.get("a/p")->meta.resource_version == "9");
  CHECK(store.erase("a/p", "12") != nullptr);
  CHECK(store.erase("a/p", "12") == nullptr);
  CHECK(store.size() == 0);
}

TEST_CASE("update folds an own write in ahead of the watch", "[kube][store]") {
  Store<Pod> store;
  store.put("a/p", a_pod("p", "5"));
  CHECK(store.update("a/p", a_pod("p", "6", "n")));
  CHECK(store.update("a/new", a_pod("new", "7")));
  CHECK(store.get("a/p")->node == "n");
  CHECK(store.get("a/new") != nullptr);
  const auto folded = store.get("a/p");
  CHECK(store.put("a/p", a_pod("p", "6", "n")) == folded);  // the watch's echo
  CHECK(store.get("a/p") == folded);
}

TEST_CASE("a late reply never brings back what the watch saw deleted", "[kube][store]") {
  Store<Pod> store;
  store.put("a/p", a_pod("p", "5"));
  store.erase("a/p", "8");
  CHECK_FALSE(store.update("a/p", a_pod("p", "7")));
  CHECK(store.get("a/p") == nullptr);
  CHECK(store.update("a/p", a_pod("p", "9")));  // made anew, afterwards
}

TEST_CASE("an own write that has been superseded is ignored", "[kube][store]") {
  Store<Pod> store;
  CHECK(store.update("a/p", a_pod("p", "6")));
  CHECK_FALSE(store.update("a/p", a_pod("p", "5")));
  CHECK_FALSE(store.update("a/p", a_pod("p", "6")));
  store.put("a/q", a_pod("q", "8"));  // the watch is at 8: it told all about p up to there
  CHECK_FALSE(store.update("a/p", a_pod("p", "7")));
  CHECK_FALSE(store.update("a/p", a_pod("p", "opaque")));
}

TEST_CASE("nodes are keyed by name", "[kube][store]") {
  Store<Node> store;
  Node node;
  node.name = "n";
  node.resource_version = "2";
  CHECK(key_of(node) == "n");
  CHECK(key_of(a_pod("p", "1")) == "a/p");
  store.put("n", node);
  node.resource_version = "1";
  node.ready = true;
  store.put("n", node);
  CHECK_FALSE(store.get("n")->ready);
}

TEST_CASE("readers and writers may come from many threads", "[kube][store]") {
  Store<Pod> store([](const Pod& pod) { return pod.node; });
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&store, t] {
        for (int i = 1; i <= 500; ++i) {
          const std::string name = "p" + std::to_string(i % 7);
          store.put("a/" + name, a_pod(name, std::to_string(i), "n" + std::to_string(t)));
          for (const auto& pod : store.by_index("n0")) (void)pod->meta.key();
          if (i % 50 == 0) store.erase("a/" + name);
        }
      });
    }
  }
  std::size_t indexed = 0;
  for (const auto* node : {"n0", "n1", "n2", "n3"}) indexed += store.by_index(node).size();
  CHECK(indexed == store.size());
}

}  // namespace
}  // namespace nervex::kube
