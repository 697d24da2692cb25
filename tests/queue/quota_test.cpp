#include "queue/quota.h"

#include <catch2/catch_test_macros.hpp>

namespace nervex::queue {
namespace {

QuotaPtr a_quota(std::string name, std::vector<kube::QuotaLimit> limits) {
  auto quota = std::make_shared<kube::Quota>();
  quota->meta.ns = "rl";
  quota->meta.name = std::move(name);
  quota->limits = std::move(limits);
  return quota;
}

const kube::Resources kPod{{"cpu", 1000}, {"nvidia.com/gpu", 8}, {"pods", 1}};

TEST_CASE("pods exceed the first limit that they do not fit in", "[queue][quota]") {
  const std::vector quotas{
      a_quota("team", {{"pods", "pods", 5, 2}, {"requests.cpu", "cpu", 9000, 0}})};
  QuotaLedger ledger(quotas);
  const auto exceeded = [&](std::int64_t count) {
    const Pods pods[]{{&kPod, count}};
    return ledger.find_exceeded("rl", pods);
  };
  CHECK_FALSE(exceeded(3).has_value());
  CHECK(exceeded(4) == gang::OverQuota{"team", "pods", 1, 5, 2, 0, 4});
  ledger.plan("rl", {&kPod, 2});
  CHECK(exceeded(3) == gang::OverQuota{"team", "pods", 2, 5, 2, 2, 3});
  ledger.plan("rl", {&kPod, -2});
  CHECK_FALSE(exceeded(3).has_value());
}

TEST_CASE("a quota that is exceeded already keeps nothing that does not use it", "[queue][quota]") {
  const std::vector quotas{a_quota("team", {{"requests.cpu", "cpu", 1000, 4000}})};
  const QuotaLedger ledger(quotas);
  const kube::Resources gpus_only{{"nvidia.com/gpu", 8}};
  const Pods pods[]{{&gpus_only, 3}};
  CHECK_FALSE(ledger.find_exceeded("rl", pods).has_value());
  CHECK_FALSE(ledger.is_limited("other"));
}

TEST_CASE("a quota for pods with requests leaves out those without", "[queue][quota]") {
  auto quota = std::make_shared<kube::Quota>(*a_quota("team", {{"pods", "pods", 1, 1}}));
  quota->not_best_effort = true;
  const std::vector<QuotaPtr> quotas{quota};
  const QuotaLedger ledger(quotas);
  const kube::Resources best_effort{{"pods", 1}};
  const Pods without[]{{&best_effort, 1}};
  const Pods with[]{{&kPod, 1}};
  CHECK_FALSE(ledger.find_exceeded("rl", without).has_value());
  CHECK(ledger.find_exceeded("rl", with).has_value());
}

}  // namespace
}  // namespace nervex::queue
