// The extender's caches and hostile pods and PodGroups, with as many node constraints as fit.
#include <string>

#include <catch2/catch_test_macros.hpp>

#include "extender/observe/live_objects.h"
#include "gang/pod_group.h"
#include "kube/cache/reflector.h"
#include "tests/support/kept_bytes.h"
#include "tests/support/sanitized.h"

namespace nervex::extender {
namespace {

using testing::repeat;

// The parts of a pod spec that keep it to some nodes, `where` with about `bytes` bytes.
struct Asked {
  Asked(const std::string& where, std::size_t bytes) {
    if (where == "selector") {
      for (std::size_t i = 0; 10 * i < bytes; ++i) {
        selector += (i == 0 ? "\"" : ",\"") + std::to_string(i) + R"(":"")";
      }
    }
    const auto fill = [&](const char* part, const char* piece, std::string& text) {
      if (where == part) text = repeat(piece, bytes);
    };
    fill("tolerations", R"({"operator":"Exists"})", tolerations);
    fill("terms", R"({"matchExpressions":[{"key":"a","operator":"Exists"}]})", terms);
    fill("preferred", R"({"weight":1,"preference":{"matchExpressions":[]}})", preferred);
    if (where == "values") {
      terms = R"({"matchExpressions":[{"key":"a","operator":"In","values":[)" +
              repeat(R"("")", bytes) + "]}]}";
    }
  }
  std::string selector, tolerations, terms, preferred;
};
constexpr const char* kParts[] = {"selector", "tolerations", "terms", "preferred", "values"};

std::string meta(int number) {
  return R"({"metadata":{"namespace":"rl","name":"a)" + std::to_string(number) +
         R"(","uid":"u","resourceVersion":"1"},)";
}

// As nervex-extender watches pods.
kube::ReflectorSink sink_pods(kube::Store<kube::Pod>& pods) {
  return kube::sink_into<kube::Pod>(
      pods, [](std::string_view json) { return kube::decode_pod(json, pod_filter()); }, nullptr);
}

TEST_CASE("what a cache keeps of a waiting pod is at most three times its text",
          "[extender][memory]") {
  if (testing::kSanitized) SKIP("a sanitizer counts memory of its own");
  for (const std::string where : kParts) {
    const Asked asked(where, 500'000);
    kube::Store<kube::Pod> pods;
    const auto pod = [&](int number) {
      return meta(number) +
             R"("spec":{"schedulerName":"nervex-scheduler","containers":[{"name":"c"}],)" +
             R"("nodeSelector":{)" + asked.selector + R"(},"tolerations":[)" + asked.tolerations +
             R"(],"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":)" +
             R"({"nodeSelectorTerms":[)" + asked.terms +
             R"(]},"preferredDuringSchedulingIgnoredDuringExecution":[)" + asked.preferred +
             "]}}}}";
    };
    const double kept = testing::kept_per_byte(sink_pods(pods), 20, pod);
    CHECK(pods.size() == 21);
    INFO(where << ": " << kept << " bytes for each byte stored");
    CHECK(kept < 1.5);
    CHECK(kept > 0.5);  // it measures
  }
}

TEST_CASE("what a cache keeps of a pod's labels and spread constraints has a bound",
          "[extender][memory]") {
  if (testing::kSanitized) SKIP("a sanitizer counts memory of its own");
  std::string labels;
  std::string spreads;
  for (int i = 0; i < 20'000; ++i) {
    const std::string comma = i == 0 ? "" : ",";
    labels += comma + "\"" + std::to_string(i) + R"(":"")";
    spreads += comma + R"({"maxSkew":1,"topologyKey":"k)" + std::to_string(i) +
               R"(","labelSelector":{"matchLabels":{"a":"b"}}})";
  }
  kube::Store<kube::Pod> pods;
  const auto pod = [&](int number) {
    return R"({"metadata":{"namespace":"rl","name":"a)" + std::to_string(number) +
           R"(","uid":"u","resourceVersion":"1","labels":{)" + labels +
           R"(}},"spec":{"schedulerName":"nervex-scheduler","containers":[{"name":"c"}],)" +
           R"("topologySpreadConstraints":[)" + spreads + "]}}";
  };
  const double kept = testing::kept_per_byte(sink_pods(pods), 20, pod);
  CHECK(pods.size() == 21);
  const double kept_bytes = kept * static_cast<double>(pod(0).size());
  INFO(kept_bytes << " bytes of a pod of " << pod(0).size());
  CHECK(kept_bytes < 32'000);
}

TEST_CASE("what a cache keeps of a PodGroup is at most three times its text",
          "[extender][memory]") {
  if (testing::kSanitized) SKIP("a sanitizer counts memory of its own");
  for (const std::string where : kParts) {
    const Asked asked(where, 30'000);
    kube::Store<gang::PodGroup> groups;
    const auto group = [&](int number) {
      return meta(number) +
             R"("spec":{"attempt":1,"queuedSince":"2026-11-29T00:00:00.000000Z","gangs":[{"name":)" +
             R"("base","kind":"Base","members":[{"name":"collector","role":"collector",)" +
             R"("slots":[{"ordinal":0}],"requests":{"cpu":"1"},"nodeSelector":{)" + asked.selector +
             R"(},"tolerations":[)" + asked.tolerations + R"(],"nodeAffinityTerms":[)" +
             asked.terms + R"(],"preferredNodeAffinityTerms":[)" + asked.preferred + "]}]}]}}";
    };
    const double kept = testing::kept_per_byte(
        kube::sink_into<gang::PodGroup>(groups, gang::parse_pod_group, nullptr), 50, group);
    CHECK(groups.size() == 51);
    INFO(where << ": " << kept << " bytes for each byte stored");
    CHECK(kept < 1.5);
    CHECK(kept > 0.5);  // it measures
  }
}

}  // namespace
}  // namespace nervex::extender
