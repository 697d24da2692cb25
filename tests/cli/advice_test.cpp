#include "cli/advice.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators_all.hpp>
#include <functional>

#include "tests/cli/views.h"

namespace nervex::cli {

TEST_CASE("advice follows from the first thing that is in the way", "[cli][advice]") {
  using job::Phase;
  struct Row {
    std::string when;
    Phase phase;
    std::function<void(JobView&)> change;
    std::string says;
  };
  const auto row = GENERATE(values<Row>({
      {"it is being deleted", Phase::kRunning, [](JobView& v) { v.job.meta.deleting = true; },
       "being deleted"},
      {"it is done", Phase::kSucceeded, [](JobView&) {}, "kubectl logs -n rl dqn-coordinator"},
      {"it has failed", Phase::kFailed, [](JobView&) {}, "create the job again"},
      {"the controller has not seen it", Phase::kNone, [](JobView&) {},
       "Is nervex-operator running?"},
      {"a pod is refused", Phase::kCreated,
       [](JobView& v) {
         v.group = a_group();
         job::set_condition(v.job.status, a_condition("PodsCreated", false, "quota"));
       },
       "mend what the API server objects to"},
      {"something of a deleted job is in the way", Phase::kCreated,
       [](JobView& v) { v.job.status.reason = "PreviousJobTerminating"; }, "starts by itself"},
      {"there is no PodGroup yet", Phase::kCreated, [](JobView&) {}, "about to be queued"},
      {"the planner has not answered", Phase::kCreated,
       [](JobView& v) {
         v.group = a_group();
         v.group->status.observed_generation = 0;
       },
       "Is nervex-scheduler running?"},
      {"the gang waits", Phase::kCreated,
       [](JobView& v) {
         v.group = a_group();
         v.group->status.gangs = {a_waiting_gang("base", "full")};
       },
       "starts by itself, whole"},
      {"the API server does not store the plan", Phase::kCreated,
       [](JobView& v) {
         v.group = a_group();
         v.group->status.gangs = {a_waiting_gang("base", "too large")};
         v.group->status.gangs[0].reason = gang::kReasonPlanRefused;
       },
       "ask for fewer pods"},
      {"a request waits", Phase::kRunning,
       [](JobView& v) {
         v.group = a_group();
         v.group->status.gangs = {a_planned_gang("base", {}), a_waiting_gang("request-1", "full")};
       },
       "what the coordinator asked for comes by itself as soon as there is capacity"},
      {"it starts", Phase::kCreated,
       [](JobView& v) {
         v.group = a_group();
         v.group->status.gangs = {a_planned_gang("base", {})};
       },
       "its pods are starting"},
      {"it runs", Phase::kRunning, [](JobView& v) { v.group = a_group(); }, "the job runs"},
  }));
  INFO("when " << row.when);
  JobView view = a_view(row.phase);
  row.change(view);
  INFO(advice(view));
  CHECK(advice(view).find(row.says) != std::string::npos);
}

}  // namespace nervex::cli
