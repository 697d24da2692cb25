#include <algorithm>
#include <thread>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "kube/cache/store.h"
#include "kube/model/node.h"
#include "kube/model/pod.h"

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

TEST_CASE("put returns the previous object, get the current one", "[kube][store]") {
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

TEST_CASE("versions that are not numbers are replaced in arrival order", "[kube][store]") {
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

TEST_CASE("erase keeps a namesake that was added since", "[kube][store]") {
  Store<Pod> store;
  store.put("a/p", a_pod("p", "5"));
  CHECK(store.update("a/p", a_pod("p", "9")));
  CHECK(store.erase("a/p", "7") == nullptr);
  CHECK(store.get("a/p")->meta.resource_version == "9");
  CHECK(store.erase("a/p", "12") != nullptr);
  CHECK(store.erase("a/p", "12") == nullptr);
  CHECK(store.size() == 0);
}

TEST_CASE("update adds an own write before the watch reports it", "[kube][store]") {
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
  CHECK(store.update("a/p", a_pod("p", "9")));  // created again, afterwards
}

TEST_CASE("an own write that has been superseded is ignored", "[kube][store]") {
  Store<Pod> store;
  CHECK(store.update("a/p", a_pod("p", "6")));
  CHECK_FALSE(store.update("a/p", a_pod("p", "5")));
  CHECK_FALSE(store.update("a/p", a_pod("p", "6")));
  store.put("a/q", a_pod("q", "8"));  // the watch is at 8: it reported all about p up to there
  CHECK_FALSE(store.update("a/p", a_pod("p", "7")));
  CHECK_FALSE(store.update("a/p", a_pod("p", "opaque")));
}

// ---- lists

TEST_CASE("objects missing from a complete list were deleted", "[kube][store]") {
  Store<Pod> store;
  store.put("a/p", a_pod("p", "5"));
  store.put("a/q", a_pod("q", "6"));
  store.begin_list();
  store.put("a/q", a_pod("q", "6"));
  CHECK(store.size() == 2);  // the list is not complete
  CHECK(names(store.end_list("10")) == std::vector<std::string>{"p"});
  CHECK(store.keys() == std::vector<std::string>{"a/q"});
}

TEST_CASE("a list that fails drops nothing", "[kube][store]") {
  Store<Pod> store;
  store.put("a/p", a_pod("p", "5"));
  store.begin_list();
  store.begin_list();
  store.put("a/p", a_pod("p", "5"));
  CHECK(store.end_list("10").empty());
}

TEST_CASE("objects that are listed but cannot be read stay unchanged", "[kube][store]") {
  Store<Pod> store;
  Pod pod = a_pod("p", "5");
  pod.meta.uid = "uid-p";
  store.put("a/p", pod);
  store.begin_list();
  store.keep("a/p", {"uid-p", false, "odd"});
  store.keep("a/unknown", {"uid-u", false, "odder"});
  CHECK(store.end_list("10").empty());
  CHECK(store.keys() == std::vector<std::string>{"a/p"});
  CHECK(store.unreadable("a/p")->uid == "uid-p");
  CHECK(store.unreadable("a/unknown")->why == "odder");
  CHECK(store.unreadable_keys() == std::vector<std::string>{"a/p", "a/unknown"});
}

TEST_CASE("a stored object is removed when an unreadable namesake arrives", "[kube][store]") {
  Store<Pod> store;
  Pod pod = a_pod("p", "5");
  pod.meta.uid = "uid-1";
  store.put("a/p", pod);
  const auto gone = store.keep("a/p", {"uid-2", false, "odd"});
  REQUIRE(gone != nullptr);
  CHECK(gone->meta.uid == "uid-1");
  CHECK(store.get("a/p") == nullptr);
  CHECK(store.unreadable("a/p")->uid == "uid-2");
}

TEST_CASE("an object counts as unreadable until it can be read or is deleted", "[kube][store]") {
  Store<Pod> store;
  store.put("a/p", a_pod("p", "5"));
  store.keep("a/p", {"", false, "odd"});
  SECTION("its next state can be read") { store.put("a/p", a_pod("p", "6")); }
  SECTION("our own write made it so") { store.update("a/p", a_pod("p", "6")); }
  SECTION("it was deleted") { store.erase("a/p"); }
  SECTION("a list does not have it") {
    store.begin_list();
    store.end_list("10");
  }
  CHECK_FALSE(store.unreadable("a/p"));
  CHECK(store.unreadable_keys().empty());
}

TEST_CASE("an object of ours that a list is too old to know outlives it", "[kube][store]") {
  Store<Pod> store;
  store.begin_list();
  CHECK(store.update("a/new", a_pod("new", "12")));  // created while the list was made
  CHECK(store.update("a/old", a_pod("old", "9")));   // the list knows that it was deleted again
  CHECK(names(store.end_list("10")) == std::vector<std::string>{"old"});
  CHECK(store.get("a/new") != nullptr);
  store.begin_list();
  CHECK(names(store.end_list("15")) == std::vector<std::string>{"new"});
}

TEST_CASE("a listed object does not hide a newer own write", "[kube][store]") {
  Store<Pod> store;
  store.put("a/p", a_pod("p", "5"));
  store.begin_list();
  CHECK(store.update("a/p", a_pod("p", "12", "n")));
  store.put("a/p", a_pod("p", "5"));
  CHECK(store.end_list("10").empty());
  CHECK(store.get("a/p")->node == "n");
}

TEST_CASE("versions of listed objects are no position: own writes among them count",
          "[kube][store]") {
  Store<Pod> store;
  store.begin_list();
  store.put("a/a", a_pod("a", "9"));
  CHECK(store.update("a/p", a_pod("p", "7")));  // listed on a page still to come
  CHECK(store.end_list("10").size() == 1);
  CHECK_FALSE(store.update("a/p", a_pod("p", "8")));  // now all is known up to 10
  CHECK(store.update("a/p", a_pod("p", "11")));
}

TEST_CASE("an own delete is not undone by a list or by events from before", "[kube][store]") {
  Pod doomed = a_pod("p", "5");
  doomed.meta.uid = "u1";
  Store<Pod> store;
  store.put("a/p", doomed);
  const bool amid_a_list = GENERATE(false, true);
  if (amid_a_list) store.begin_list();
  CHECK(store.forget("a/p", "u1") != nullptr);
  doomed.meta.resource_version = "6";
  CHECK(store.put("a/p", doomed) == nullptr);  // reported late
  CHECK_FALSE(store.update("a/p", doomed));    // an earlier reply came late
  CHECK(store.get("a/p") == nullptr);
  if (amid_a_list) CHECK(store.end_list("6").empty());
  Pod namesake = a_pod("p", "8");
  namesake.meta.uid = "u2";
  CHECK(store.update("a/p", namesake));
  CHECK(store.erase("a/p", "7", "u1") == nullptr);  // the watch has come to the delete
  CHECK(store.get("a/p")->meta.uid == "u2");
}

TEST_CASE("forget spares a namesake", "[kube][store]") {
  Pod pod = a_pod("p", "5");
  pod.meta.uid = "u2";
  Store<Pod> store;
  store.put("a/p", pod);
  CHECK(store.forget("a/p", "u1") == nullptr);
  CHECK(store.get("a/p") != nullptr);
}

TEST_CASE("a list from a restored etcd replaces newer versions", "[kube][store]") {
  Store<Pod> store;
  Pod deleted = a_pod("deleted", "100");
  deleted.meta.uid = "u1";
  store.put("a/p", a_pod("p", "150", "lost"));
  store.put("a/same", a_pod("same", "120", "lost"));
  store.put("a/deleted", deleted);
  CHECK(store.forget("a/deleted", "u1") != nullptr);
  CHECK(store.update("a/own", a_pod("own", "160")));
  store.begin_list();
  store.put("a/p", a_pod("p", "90"));
  store.put("a/same", a_pod("same", "120", "other"));  // the number was given out again
  store.put("a/deleted", deleted);                     // and this delete never happened
  CHECK(names(store.end_list("125")) == std::vector<std::string>{"own"});
  CHECK(store.get("a/p")->node.empty());
  CHECK(store.get("a/same")->node == "other");
  CHECK(store.get("a/deleted") != nullptr);
  CHECK(store.update("a/p", a_pod("p", "126", "n")));  // own writes count again
}

TEST_CASE("keys sort as texts, with and without a namespace", "[kube][store]") {
  Store<Pod> store;
  std::vector<std::string> want;
  for (const std::string ns : {"a", "a-b", "ab", "b"}) {
    for (const std::string name : {"a", "a.b", "ab", "b"}) {
      Pod pod = a_pod(name, "1");
      pod.meta.ns = ns;
      want.push_back(pod.meta.key());
      store.put(pod.meta.key(), pod);
    }
  }
  std::sort(want.begin(), want.end());
  CHECK(store.keys() == want);
  for (const auto& key : want) CHECK(store.get(key)->meta.key() == key);
  for (const auto* key : {"", "a", "a/", "a/a.", "ab/aba", "b/", "c/a"}) {
    CHECK(store.get(key) == nullptr);
  }
}

TEST_CASE("pods share what they have in common", "[kube][store]") {
  Store<Pod> store;
  for (const auto* name : {"p", "q"}) {
    Pod pod = a_pod(name, "1", "node-1");
    pod.requests = {{"cpu", 100}};
    pod.meta.labels["role"] = "learner";
    store.put(pod.meta.key(), pod);
  }
  const auto p = store.get("a/p");
  const auto q = store.get("a/q");
  CHECK(p->node.c_str() == q->node.c_str());
  CHECK(&p->requests.amounts() == &q->requests.amounts());
  CHECK(p->meta.labels.begin()->second.c_str() == q->meta.labels.begin()->second.c_str());
}

TEST_CASE("nodes are keyed by name", "[kube][store]") {
  Store<Node> store;
  Node node;
  node.name = "n";
  node.resource_version = "2";
  CHECK(object_key(node) == "n");
  CHECK(object_key(a_pod("p", "1")) == "a/p");
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
