#include "queue/reservation.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <string>
#include <vector>

#include "tests/queue/builders.h"

namespace nervex::queue {
namespace {

using testing::at_second;
using testing::queued;

// Queued at 100 with priority 5, waits for nodes since 1,000, which it has by 2,000 when job
// "known" has ended.
// Queue "guaranteed" may reclaim its nodes.
ReservedFor head(std::optional<SysTime> due = at_second(2'000)) {
  static const Workload kHead = queued("", "head", 8, 100, 5);
  static const std::vector<std::string> kJobs{"known"};
  static const std::vector<std::string_view> kReclaiming{"guaranteed"};
  return {rank(kHead), at_second(1'000), due, kJobs, kReclaiming};
}

Workload gang_of(int priority, std::int64_t since, bool is_preemptible) {
  Workload workload = queued("", "other", 8, since, priority);
  workload.kind = gang::GangKind::kBase;
  workload.is_preemptible = is_preemptible;
  return workload;
}

TEST_CASE("who starts on reserved nodes ends in time or can be reclaimed", "[queue][reservation]") {
  struct Row {
    std::string when;
    Workload workload;
    std::optional<SysTime> latest_end;
    bool want;
  };
  Workload own = gang_of(0, 200, true);
  own.name = "head";
  Workload foreign = gang_of(0, 200, true);
  foreign.kind = std::nullopt;
  Workload reclaiming = gang_of(5, 101, true);
  reclaiming.queue = "guaranteed";
  const auto row = GENERATE_REF(values<Row>({
      {"it may reclaim the head's nodes", reclaiming, std::nullopt, false},
      {"it may reclaim the head's nodes, and ends in time", reclaiming, at_second(1'940), true},
      {"it has no bound", gang_of(0, 200, false), std::nullopt, false},
      {"it ends in time, even if it takes a minute to start", gang_of(0, 200, false),
       at_second(1'940), true},
      {"it ends too late", gang_of(0, 200, false), at_second(1'941), false},
      {"it is preemptible and served later", gang_of(5, 101, true), std::nullopt, true},
      {"it is preemptible and served earlier", gang_of(5, 99, true), std::nullopt, false},
      {"it is preemptible and has a higher priority", gang_of(6, 200, true), std::nullopt, false},
      {"it is of another operator", foreign, std::nullopt, false},
      {"it is of the same job", own, at_second(1'000), false},
  }));
  INFO("when " << row.when);
  CHECK(may_start(head(), {&row.workload, row.latest_end}) == row.want);
}

TEST_CASE("what takes hours to end is not reclaimed", "[queue][reservation]") {
  Workload workload = gang_of(0, 200, true);
  const Tenant tenant{&workload, at_second(9'000)};
  workload.grace = kLongestEnding;
  CHECK(is_reclaimable(head(), tenant));
  CHECK(may_start(head(), tenant));
  workload.grace = kLongestEnding + std::chrono::seconds(1);
  CHECK_FALSE(is_reclaimable(head(), tenant));
  CHECK_FALSE(may_start(head(), tenant));
}

TEST_CASE("without a due time only what can be reclaimed starts", "[queue][reservation]") {
  const Workload bounded = gang_of(0, 200, false);
  const Workload preemptible = gang_of(0, 200, true);
  CHECK_FALSE(may_start(head(std::nullopt), {&bounded, at_second(1'100)}));
  CHECK(may_start(head(std::nullopt), {&preemptible}));
}

TEST_CASE("a head counts on what ends in time, and reclaims what does not keep its word",
          "[queue][reservation]") {
  struct Row {
    std::string when;
    std::optional<SysTime> latest_end;
    std::optional<SysTime> promised_end;
    bool ends;
    bool is_reclaimable;
  };
  const auto row = GENERATE(values<Row>({
      {"it ends in time", at_second(2'000), at_second(2'000), true, false},
      {"it ends later, as it always would", at_second(2'001), at_second(2'001), false, false},
      {"it has no bound", std::nullopt, std::nullopt, false, false},
      {"its deadline was raised", at_second(9'000), at_second(2'000), true, true},
      {"its deadline was removed", std::nullopt, at_second(2'000), true, true},
      {"its deadline was raised, and is in time", at_second(2'000), at_second(1'000), true, false},
  }));
  INFO("when " << row.when);
  Workload workload = gang_of(9, 0, false);
  std::string job = "other";
  SECTION("of those that ran when it reserved") {
    workload.started_at = workload.job_started_at = at_second(500);
    if (row.promised_end && *row.promised_end <= *head().due) job = "known";
  }
  SECTION("of those that started since") {
    workload.started_at = workload.job_started_at = at_second(1'000);
  }
  const Tenant tenant{&workload, row.latest_end, row.promised_end, job};
  CHECK(ends_for(head(), tenant) == row.ends);
  CHECK(is_reclaimable(head(), tenant) == row.is_reclaimable);
}

TEST_CASE("a head takes nothing back that it did not count on", "[queue][reservation]") {
  Workload workload = gang_of(9, 0, false);
  workload.started_at = workload.job_started_at = at_second(999);
  SECTION("a job that ran, whose deadline was raised before") {}
  SECTION("a new request of such a job") { workload.started_at = at_second(1'500); }
  const Tenant tenant{&workload, at_second(9'000), at_second(2'000), "other"};
  CHECK_FALSE(is_reclaimable(head(), tenant));
  CHECK_FALSE(ends_for(head(), tenant));
}

TEST_CASE("without a due time a head waits for what ran before it reserved",
          "[queue][reservation]") {
  Workload workload = gang_of(0, 200, false);
  workload.started_at = at_second(1'000);
  CHECK(ends_for(head(std::nullopt), {&workload}));
  workload.started_at = at_second(1'001);
  CHECK_FALSE(ends_for(head(std::nullopt), {&workload}));
  workload.started_at.reset();
  CHECK_FALSE(ends_for(head(std::nullopt), {&workload}));
  CHECK(ends_for(head(std::nullopt), {&workload, {}, {}, "known"}));  // a later request of its job
}

}  // namespace
}  // namespace nervex::queue
