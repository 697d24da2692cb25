// How large does a PodGroup of 5,000 slots become? Below 1 MiB as sent and stored, in any state of
// its pods: etcd accepts 1.5 MiB, and managedFields are added.
#include <catch2/catch_message.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <algorithm>
#include <string>

#include "gang/pod_group.h"
#include "tests/support/gang_builders.h"

namespace nervex::gang {
namespace {

constexpr int kSlots = 5000;
constexpr std::size_t kMiB = std::size_t{1} << 20;

struct Shape {
  std::string when;
  int name_length = 63;  // of a node
  int pods_a_node = 1;
  int gangs = 1;
  bool mixed = false;  // no two neighbours of one incarnation, or with neighbouring numbers
};

std::string node_name(int i, int length) {
  std::string name = "node-" + std::to_string(i) + "-";
  name.resize(static_cast<std::size_t>(length), 'x');
  return name;
}

// Five digits an ordinal, seven a number, and three an incarnation where they are mixed.
PodGroup a_large_group(const Shape& shape) {
  PodGroup group;
  group.meta.ns = std::string(63, 'n');
  group.meta.name = std::string(63, 'j') + "-1000";
  group.status.next_placement = 10'000'000;
  const int in_each = kSlots / shape.gangs;
  std::vector<testing::Member> members;
  for (int g = 0; g < shape.gangs; ++g) {
    testing::Member set = testing::a_set("ddp-learner", 0, testing::ask(8, 32));
    if (g > 0) set = testing::in_request(std::move(set), 10'000 + g);
    set = testing::selecting(std::move(set), "example.com/accelerator", "a-rather-long-model-name");
    set.shape.constraints.edit([](kube::NodeConstraints& constraints) {
      constraints.tolerations = Json::array(
          {{{"key", "nvidia.com/gpu"}, {"operator", "Exists"}, {"effect", "NoSchedule"}}});
    });
    GangStatus gang{set.gang.name,
                    true,
                    true,
                    std::string(kReasonPlanned),
                    "5000 pods are placed",
                    SysTime(std::chrono::milliseconds(1'795'269'364'123)),
                    {}};
    for (int i = 0; i < in_each; ++i) {
      const int n = g * in_each + i;
      const SlotId slot{60'000 + n, shape.mixed ? 100 + n * 7 % 118 : 0};
      set.slots.push_back(slot);
      gang.placements.push_back({set.role, slot,
                                 node_name(n / shape.pods_a_node, shape.name_length),
                                 shape.mixed ? 9'999'999 - n : 1'000'000 + n});
    }
    members.push_back(std::move(set));
    group.status.gangs.push_back(std::move(gang));
  }
  group.spec.gangs = testing::make_gangs(members);
  return group;
}

Json encode_group(const PodGroup& group) {
  return Json{{"apiVersion", kApiVersion},
              {"kind", kKind},
              {"metadata", {{"namespace", group.meta.ns}, {"name", group.meta.name}}},
              {"spec", encode_spec(group.spec)},
              {"status", encode_status(group.status)}};
}

TEST_CASE("a PodGroup of 5,000 slots stays below 1 MiB", "[gang][pod_group][size]") {
  const auto shape = GENERATE(values<Shape>({
      {"all run on nodes of 8", 63, 8, 1, false},
      {"each is alone on its node", 63, 1, 1, false},
      {"the nodes' names have 100 characters", 100, 1, 1, false},
      {"each was replaced another hundred times", 100, 1, 1, true},
      {"many share a node and each was replaced", 100, 100, 1, true},
      {"they are twenty gangs", 100, 1, 20, true},
      {"they are 500 gangs", 63, 1, 500, false},
  }));
  INFO("when " << shape.when);
  const PodGroup group = a_large_group(shape);
  const std::string text = kube::to_text(encode_group(group));
  UNSCOPED_INFO(text.size() << " bytes");
  CHECK(text.size() < kMiB);
  const auto decoded = decode_pod_group(*kube::parse_json(text));
  REQUIRE(decoded.has_value());
  CHECK(decoded->spec == group.spec);
  CHECK(decoded->status == group.status);
}

TEST_CASE("a PodGroup with capacity reserved for 5,000 pods stays below 1 MiB",
          "[gang][pod_group][size]") {
  PodGroup group = a_large_group({"", 100, 1, 1, false});
  GangStatus& base = group.status.gangs.front();
  for (const Placement& placement : base.placements) {
    base.reserved.push_back({"learner", placement.node, 1});
  }
  std::sort(base.reserved.begin(), base.reserved.end(),
            [](const auto& a, const auto& b) { return a.node < b.node; });
  base.placements.clear();
  testing::nth_set(group, 0).slots.clear();
  testing::nth_set(group, 0).reserved_pods = kSlots;
  const std::string text = kube::to_text(encode_group(group));
  UNSCOPED_INFO(text.size() << " bytes");
  CHECK(text.size() < kMiB);
  const auto decoded = decode_pod_group(*kube::parse_json(text));
  REQUIRE(decoded.has_value());
  CHECK(decoded->spec == group.spec);
  CHECK(decoded->status == group.status);
}

TEST_CASE("a PodGroup of 5,000 slots that preempts 1,024 gangs stays below 1 MiB",
          "[gang][pod_group][size]") {
  PodGroup group = a_large_group({"", 63, 1, 1, false});
  GangStatus& base = group.status.gangs.front();
  const bool is_for_reservation = GENERATE(false, true);
  for (int i = 0; i < 1'024; ++i) {
    base.victims.push_back({std::string(36, 'u'), "request-" + std::to_string(i), 1'000'000,
                            !is_for_reservation, std::string(68, 'j'), is_for_reservation});
  }
  if (is_for_reservation) {
    base.reservation = Reservation{{}, base.since, base.since};
    base.reservation->counts_on.assign(1'024, std::string(36, 'u'));
  }
  const std::string text = kube::to_text(encode_group(group));
  UNSCOPED_INFO(text.size() << " bytes");
  CHECK(text.size() < kMiB);
  const auto decoded = decode_pod_group(*kube::parse_json(text));
  REQUIRE(decoded.has_value());
  CHECK(decoded->status == group.status);
}

TEST_CASE("a PodGroup that has reserved 5,000 nodes stays below 1 MiB", "[gang][pod_group][size]") {
  PodGroup group = a_large_group({"", 100, 1, 1, false});
  GangStatus& base = group.status.gangs.front();
  base.reservation.emplace();
  base.reservation->due = base.reservation->renew_after = base.since;
  base.reservation->counts_on.assign(1'024, std::string(36, 'u'));
  for (const Placement& placement : base.placements) {
    base.reservation->nodes.push_back({placement.role, placement.node, 1});
  }
  std::sort(base.reservation->nodes.begin(), base.reservation->nodes.end(),
            [](const auto& a, const auto& b) { return a.node < b.node; });
  base.placements.clear();
  const std::string text = kube::to_text(encode_group(group));
  UNSCOPED_INFO(text.size() << " bytes");
  CHECK(text.size() < kMiB);
  const auto decoded = decode_pod_group(*kube::parse_json(text));
  REQUIRE(decoded.has_value());
  CHECK(decoded->status == group.status);
}

TEST_CASE("neighbouring slots are stored as one entry", "[gang][pod_group][size]") {
  const PodGroup group = a_large_group({"", 63, kSlots, 1, false});
  CHECK(kube::to_text(encode_group(group)).size() < 2000);
}

}  // namespace
}  // namespace nervex::gang
