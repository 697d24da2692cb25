#include <catch2/catch_test_macros.hpp>

#include "kube/model/share_pool.h"

namespace nervex::kube {
namespace {

Pod a_pod(const std::string& node) {
  Pod pod;
  pod.meta.ns = "team-a";
  pod.meta.owner = OwnerRef{"v1", "Job", "j", "u"};
  pod.meta.labels = {{"job", "j"}, {"role", "learner"}};
  pod.meta.annotations = {{"slot", "learner/0"}};
  pod.node = node;
  ContainerState main;
  main.name = "main";
  main.ready = true;
  pod.containers = {main};
  pod.requests = {{"cpu", 1000}, {"pods", 1}};
  return pod;
}

TEST_CASE("equal parts become one, and no pod changes by it", "[kube][share_pool]") {
  SharePool pool;
  Pod a = a_pod("n1");
  Pod b = a_pod("n1");
  pool.share(a);
  pool.share(b);
  CHECK(a == a_pod("n1"));
  CHECK(b == a_pod("n1"));
  CHECK(a.meta.ns.c_str() == b.meta.ns.c_str());
  CHECK(&*a.meta.owner == &*b.meta.owner);
  CHECK(&*a.meta.labels.begin() == &*b.meta.labels.begin());
  CHECK(&a.containers.items() == &b.containers.items());
  CHECK(&a.requests.amounts() == &b.requests.amounts());
  b.requests.set("cpu", 5);
  b.meta.labels["role"] = "collector";
  b.containers.edit()[0].ready = false;
  CHECK(a == a_pod("n1"));
}

TEST_CASE("parts that differ anywhere stay apart", "[kube][share_pool]") {
  SharePool pool;
  Pod a = a_pod("n1");
  Pod b = a_pod("n1");
  b.containers.edit()[0].restarts = 1;
  b.meta.owner.edit().name = "other";
  b.meta.labels["role"] = "collector";
  pool.share(a);
  pool.share(b);
  CHECK(b.containers[0].restarts == 1);
  CHECK(b.meta.owner->name == "other");
  CHECK(kube::label(b.meta, "role") == "collector");
  CHECK(a == a_pod("n1"));
}

TEST_CASE("unused parts are released", "[kube][share_pool]") {
  SharePool pool;
  Pod kept = a_pod("kept");
  pool.share(kept);
  for (int i = 0; i < 10'000; ++i) {
    Pod pod = a_pod("node-" + std::to_string(i));
    pool.share(pod);
  }
  CHECK(pool.size() < 600);
  Pod again = a_pod("kept");
  pool.share(again);
  CHECK(again.node.c_str() == kept.node.c_str());
}

}  // namespace
}  // namespace nervex::kube
