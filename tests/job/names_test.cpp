#include "job/names.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <set>

#include "tests/support/job_builders.h"

namespace nervex::job {
namespace {

using testing::a_job;

constexpr std::string_view kAlphabet = "bcdfghjklmnpqrstvwxz2456789";

// A number below 27^5, or -1 if a character is not allowed.
int suffix_number(std::string_view suffix) {
  int number = 0;
  for (const char c : suffix) {
    const auto at = kAlphabet.find(c);
    if (at == std::string_view::npos) return -1;
    number = number * 27 + static_cast<int>(at);
  }
  return suffix.size() == 5 ? number : -1;
}

TEST_CASE("a suffix never changes between versions and machines", "[job][names]") {
  // Pods that run would be made a second time under another name.
  CHECK(name_suffix("6f1c9a2e-0d0e-4c55-9b2c-0a64c6b0f8a1", Role::kCollector, {0, 0}) == "t64xf");
  CHECK(name_suffix("6f1c9a2e-0d0e-4c55-9b2c-0a64c6b0f8a1", Role::kCollector, {0, 1}) == "vtv7q");
  CHECK(name_suffix("6f1c9a2e-0d0e-4c55-9b2c-0a64c6b0f8a1", Role::kLearner, {0, 0}) == "4dh8q");
  CHECK(name_suffix("6f1c9a2e-0d0e-4c55-9b2c-0a64c6b0f8a1", Role::kLearner, {65535, 217}) ==
        "n6jpp");
}

TEST_CASE("within a job and role no two suffixes are equal", "[job][names][property][slow]") {
  const std::string uid = GENERATE("uid-1", "6f1c9a2e-0d0e-4c55-9b2c-0a64c6b0f8a1");
  INFO("uid " << uid);
  std::vector<bool> seen(27 * 27 * 27 * 27 * 27);
  int bad = 0;
  for (int ordinal = 0; ordinal <= kMaxOrdinal; ++ordinal) {
    for (int incarnation = 0; incarnation <= kMaxIncarnation; ++incarnation) {
      const int number = suffix_number(name_suffix(uid, Role::kLearner, {ordinal, incarnation}));
      if (number < 0 || seen[static_cast<std::size_t>(number)]) {
        ++bad;
        continue;
      }
      seen[static_cast<std::size_t>(number)] = true;
    }
  }
  CHECK(bad == 0);
}

TEST_CASE("a suffix decodes to its slot", "[job][names][property]") {
  const std::string uid = GENERATE("uid-1", "6f1c9a2e-0d0e-4c55-9b2c-0a64c6b0f8a1");
  const Role role =
      GENERATE(Role::kAggregator, Role::kCollector, Role::kLearner, Role::kDdpLearner);
  INFO("uid " << uid << ", role " << to_string(role));
  int wrong = 0;
  for (int ordinal = 0; ordinal <= kMaxOrdinal; ordinal += 37) {
    for (const int incarnation : {0, 1, 100, kMaxIncarnation}) {
      const Slot slot{ordinal, incarnation};
      wrong += slot_of_suffix(uid, role, name_suffix(uid, role, slot)) != slot;
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("every suffix decodes to one slot or none", "[job][names][property]") {
  int nobodys = 0;
  int wrong = 0;
  for (int number = 0; number < 27 * 27 * 27 * 27 * 27; number += 101) {
    std::string suffix;
    for (int rest = number; suffix.size() < 5; rest /= 27) {
      suffix += kAlphabet[static_cast<std::size_t>(rest % 27)];
    }
    const auto slot = slot_of_suffix("uid-1", Role::kLearner, suffix);
    nobodys += !slot;
    wrong += slot && name_suffix("uid-1", Role::kLearner, *slot) != suffix;
  }
  CHECK(wrong == 0);
  CHECK(nobodys > 0);
  CHECK(nobodys < 1000);  // 0.4 % of 142,000
}

TEST_CASE("an invalid suffix decodes to no slot", "[job][names]") {
  const std::string text = GENERATE("", "bcdf", "bcdfgh", "BCDFG", "bcdf0", "bcd.f", "bcdf\n");
  INFO(text);
  CHECK_FALSE(slot_of_suffix("uid-1", Role::kLearner, text));
}

TEST_CASE("a pod's name decodes to its role and slot", "[job][names]") {
  const Job job = a_job();
  for (const NamedSlot& one :
       {NamedSlot{Role::kCoordinator, {}}, NamedSlot{Role::kAggregator, {}},
        NamedSlot{Role::kAggregator, {4096, 1}}, NamedSlot{Role::kCollector, {0, 217}},
        NamedSlot{Role::kLearner, {65'535, 0}}, NamedSlot{Role::kDdpLearner, {4097, 2}}}) {
    INFO(pod_name(job, one.role, one.slot));
    CHECK(slot_of_pod_name(job, pod_name(job, one.role, one.slot)) == one);
  }
  for (const char* name :
       {"", "dqn", "dqn-", "dqn-collector", "dqn-collector-", "dqn-coordinator-bcdfg",
        "other-collector-bcdfg", "dqn-collector-bcdfg-x", "xdqn-coordinator"}) {
    INFO(name);
    CHECK_FALSE(slot_of_pod_name(job, name));
  }
}

TEST_CASE("suffixes of neighbouring slots look unrelated", "[job][names]") {
  std::set<std::string> heads;
  for (int i = 0; i < 100; ++i) {
    heads.insert(name_suffix("uid-1", Role::kCollector, {i, 0}).substr(0, 2));
  }
  CHECK(heads.size() > 50);
}

TEST_CASE("names follow from job, role and slot", "[job][names]") {
  const Job job = a_job();
  struct Row {
    std::string when;
    std::string name;
    std::string want;
  };
  const auto suffix = [&](Role role, Slot slot) { return name_suffix("uid-dqn", role, slot); };
  const auto row = GENERATE_COPY(values<Row>({
      {"the coordinator", pod_name(job, Role::kCoordinator, {0, 0}), "dqn-coordinator"},
      {"the coordinator, later", pod_name(job, Role::kCoordinator, {0, 3}), "dqn-coordinator"},
      {"the job's aggregator", pod_name(job, Role::kAggregator, {0, 1}), "dqn-aggregator"},
      {"a multi-GPU learner's aggregator", pod_name(job, Role::kAggregator, {4096, 0}),
       "dqn-aggregator-" + suffix(Role::kAggregator, {4096, 0})},
      {"a base collector", pod_name(job, Role::kCollector, {0, 0}),
       "dqn-collector-" + suffix(Role::kCollector, {0, 0})},
      {"its next incarnation", pod_name(job, Role::kCollector, {0, 1}),
       "dqn-collector-" + suffix(Role::kCollector, {0, 1})},
      {"part of a learner", pod_name(job, Role::kDdpLearner, {4097, 2}),
       "dqn-ddp-learner-" + suffix(Role::kDdpLearner, {4097, 2})},
      {"the PodGroup", pod_group_name(job, 2), "dqn-2"},
  }));
  INFO("when " << row.when);
  CHECK(row.name == row.want);
}

TEST_CASE("the longest name that a job may have depends on its roles", "[job][names]") {
  struct Row {
    std::string when;
    bool has_collector;
    bool has_learner;
    Role longest;
    int want;
  };
  const auto row = GENERATE(values<Row>({
      {"it has a coordinator only", false, false, Role::kCoordinator, 51},
      {"it has collectors", true, false, Role::kCollector, 47},
      {"it may have multi-GPU learners", false, true, Role::kDdpLearner, 45},
      {"it has all", true, true, Role::kDdpLearner, 45},
  }));
  INFO("when " << row.when);
  CHECK(name_limit(row.has_collector, row.has_learner).length == row.want);
  Job job = a_job();
  job.spec.collector.reset();
  job.spec.learner.reset();
  RoleSpec role;
  role.pod_template = Json::object();
  if (row.has_collector) job.spec.collector = role;
  if (row.has_learner) job.spec.learner = role;
  job.meta.name = std::string(static_cast<std::size_t>(row.want), 'j');
  CHECK(check_job_name(job));
  const Slot slot = row.longest == Role::kCoordinator ? Slot{} : Slot{kMaxOrdinal, kMaxIncarnation};
  CHECK(pod_name(job, row.longest, slot).size() == 63);
  CHECK(pod_name(job, Role::kAggregator, {}).size() <= 63);
  job.meta.name += "j";
  CHECK_FALSE(check_job_name(job));
}

TEST_CASE("a role's default port is the contract's", "[job][names]") {
  CHECK(default_port(Role::kCollector) == 22270);
  CHECK(default_port(Role::kLearner) == 22271);
  CHECK(default_port(Role::kDdpLearner) == 22271);
  CHECK(default_port(Role::kAggregator) == 22272);
  CHECK(default_port(Role::kCoordinator) == 22273);
}

}  // namespace
TEST_CASE("incarnations beyond the last name of an ordinal use names of another ordinal",
          "[job][names]") {
  Job job;
  job.meta.name = "dqn";
  job.meta.uid = "uid-dqn";
  job.status.continued = {{Role::kCollector, {1, 218}, 61'440, 1},
                          {Role::kCollector, {1, 436}, 61'441, 1},
                          {Role::kLearner, {4096, 218}, 61'440, 2}};
  struct Row {
    Role role;
    Slot slot;
    Slot named_as;
  };
  const auto row = GENERATE(values<Row>({{Role::kCollector, {1, 217}, {1, 217}},
                                         {Role::kCollector, {1, 218}, {61'440, 0}},
                                         {Role::kCollector, {1, 435}, {61'440, 217}},
                                         {Role::kCollector, {1, 436}, {61'441, 0}},
                                         {Role::kLearner, {4096, 220}, {61'440, 2}},
                                         {Role::kAggregator, {4096, 220}, {61'440, 2}},
                                         {Role::kDdpLearner, {4096, 220}, {61'440, 2}},
                                         {Role::kDdpLearner, {4097, 220}, {61'441, 2}}}));
  const std::string name = pod_name(job, row.role, row.slot);
  INFO(name);
  CHECK(has_name(job, row.role, row.slot));
  CHECK(name.substr(name.rfind('-') + 1) == name_suffix("uid-dqn", row.role, row.named_as));
  CHECK(slot_of_pod_name(job, name) == NamedSlot{row.role, row.slot});
}

TEST_CASE("an incarnation without an ordinal for its name has no name", "[job][names]") {
  Job job;
  job.meta.name = "dqn";
  job.status.continued = {{Role::kCollector, {1, 218}, 61'440, 1}};
  CHECK_FALSE(has_name(job, Role::kCollector, {1, 436}));
  CHECK_FALSE(has_name(job, Role::kCollector, {2, 218}));
  CHECK_FALSE(has_name(job, Role::kLearner, {1, 218}));
  CHECK(has_name(job, Role::kAggregator, {0, 100'000}));  // dqn-aggregator
}

}  // namespace nervex::job
