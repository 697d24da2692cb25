#include "planner/report/gang_report.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "placement/explain.h"
#include "planner/recovery/healing.h"

namespace nervex::planner {
namespace {

constexpr std::chrono::milliseconds kPeriod{60'000};

using std::chrono::seconds;

SysTime at(int s) { return SysTime(seconds(s)); }

gang::NoFit lacking(int unplaced, const std::string& resource = "nvidia.com/gpu") {
  return gang::InsufficientCapacity{{"learner", 4, unplaced}, {resource, 8}};
}

gang::GangStatus waiting(const gang::NoFit& no_fit, int since) {
  gang::GangStatus status;
  status.reason = "Unschedulable";
  status.message = placement::explain(no_fit);
  status.since = at(since);
  return status;
}

TEST_CASE("an explanation is reported again when its cause changes, or after a minute",
          "[extender][gang_report]") {
  struct Row {
    std::string when;
    std::optional<gang::GangStatus> before;
    std::optional<LastReported> last_reported;
    gang::NoFit now;
    std::string message;
    int since;
    std::optional<seconds> refresh_after;
  };
  const auto three = lacking(3);
  const auto two = lacking(2);
  const auto cpu = lacking(3, "cpu");
  const auto before = waiting(three, 10);
  gang::GangStatus planned_before;
  planned_before.reason = "Planned";
  const auto row = GENERATE_COPY(values<Row>({
      {"the gang is new", {}, {}, three, placement::explain(three), 100, {}},
      {"it lost its plan", planned_before, {}, three, placement::explain(three), 100, {}},
      {"nothing changed",
       before,
       LastReported{three, at(90)},
       three,
       placement::explain(three),
       10,
       {}},
      {"numbers changed 10 s after they were reported", before, LastReported{three, at(90)}, two,
       placement::explain(three), 10, seconds(50)},
      {"numbers changed a minute after they were reported",
       before,
       LastReported{three, at(40)},
       two,
       placement::explain(two),
       10,
       {}},
      {"another resource lacks now",
       before,
       LastReported{three, at(99)},
       cpu,
       placement::explain(cpu),
       10,
       {}},
      {"what was reported is not known any more", before, {}, two, placement::explain(two), 10, {}},
  }));
  INFO("when " << row.when);
  const GangReport report =
      waiting_report(row.before ? &*row.before : nullptr, row.now,
                     row.last_reported ? &*row.last_reported : nullptr, at(100), kPeriod);
  CHECK(report.reason == "Unschedulable");
  CHECK(report.message == row.message);
  CHECK(report.since == at(row.since));
  CHECK(report.refresh_after == row.refresh_after);
  REQUIRE(report.last_reported.has_value());
  CHECK(placement::explain(report.last_reported->no_fit) ==
        report.message);  // what it will be compared with
  CHECK(report.cause == report.last_reported->no_fit);
}

TEST_CASE("a healing gang reports at once what else it has lost", "[extender][gang_report]") {
  HealingState healing;
  healing.cause = {gang::HealingCause::Code::kPodLost, "learner/0 lost its node n1 (deleted)"};
  healing.deadline = at(400);
  gang::GangStatus before = waiting(lacking(1), 10);
  const GangReport first =
      waiting_report(&before, lacking(1), nullptr, at(100), kPeriod, {&healing});
  CHECK(first.message ==
        "learner/0 lost its node n1 (deleted); a new place is searched until "
        "1970-01-01T00:06:40Z, then the gang is requeued; no place yet: " +
            placement::explain(lacking(1)));
  before.message = first.message;
  const auto again = [&] {
    return waiting_report(&before, lacking(1), &*first.last_reported, at(110), kPeriod, {&healing});
  };
  CHECK(again().message == first.message);
  CHECK_FALSE(again().refresh_after.has_value());
  healing.cause = {gang::HealingCause::Code::kPodLost, "learner/1 lost its node n2 (deleted)"};
  CHECK(again().message.starts_with("learner/1 lost its node n2 (deleted)"));
}

TEST_CASE("a message that was changed by hand is written again", "[extender][gang_report]") {
  gang::GangStatus before = waiting(lacking(3), 10);
  before.message = "edited";
  const LastReported last{lacking(3), at(90)};
  CHECK(waiting_report(&before, lacking(3), &last, at(100), kPeriod).message ==
        placement::explain(lacking(3)));
}

TEST_CASE("a planned gang reports since when it is planned", "[extender][gang_report]") {
  const GangReport fresh = planned_report(nullptr, 1, at(100));
  CHECK(fresh.reason == "Planned");
  CHECK(fresh.message == "1 pod is placed");
  CHECK(fresh.since == at(100));
  gang::GangStatus before;
  before.reason = "Planned";
  before.since = at(7);
  CHECK(planned_report(&before, 3, at(100)).since == at(7));
  CHECK(planned_report(&before, 3, at(100)).message == "3 pods are placed");
}

}  // namespace
}  // namespace nervex::planner
