#include "cli/queues/queue_table.h"

#include <algorithm>

#include <catch2/catch_test_macros.hpp>

#include "tests/support/job_snapshots.h"

namespace nervex::cli {
namespace {

Json a_queue(const std::string& name, const std::string& parent = "") {
  Json queue = {{"metadata", {{"name", name}}}, {"spec", Json::object()}};
  if (!parent.empty()) queue["spec"]["parent"] = parent;
  return queue;
}

std::vector<std::string> first_cells(const Rows& rows) {
  std::vector<std::string> names;
  for (const auto& row : rows) names.push_back(row.at(0));
  return names;
}

TEST_CASE("queues are listed below their parents, indented", "[cli][queue]") {
  const auto sorted = sort_queues({a_queue("vision"), a_queue("rl-big", "rl"), a_queue("rl"),
                                   a_queue("rl-small", "rl"), a_queue("lost", "absent"),
                                   a_queue("x", "y"), a_queue("y", "x")});
  CHECK(first_cells(queue_rows(sorted)) == std::vector<std::string>{"QUEUE", "lost", "rl",
                                                                    "  rl-big", "  rl-small",
                                                                    "vision", "x", "  y"});
}

TEST_CASE("a line of a queue has what it uses of what it may use", "[cli][queue]") {
  Json queue = a_queue("rl");
  queue["spec"]["quota"] = {{{"resources", {{"nvidia.com/gpu", 16}}}}};
  queue["spec"]["limit"] = {{{"resources", {{"nvidia.com/gpu", "32"}, {"memory", "1Ti"}}}},
                            {{"nodeClass", "a100"}, {"resources", {{"nvidia.com/gpu", 8}}}}};
  queue["status"] = {
      {"pending", 3},
      {"running", 2},
      {"share", "12.5%"},
      {"use", {{"cpu", "3"}, {"memory", "4Gi"}, {"nvidia.com/gpu", "20"}, {"pods", "9"}}},
      {"conditions", {{{"type", "Ready"}, {"status", "True"}, {"reason", "Ready"}}}}};
  CHECK(queue_rows({queue})[1] ==
        std::vector<std::string>{
            "rl", "3", "2", "12.5%", "memory 4Gi, nvidia.com/gpu 20", "nvidia.com/gpu 16",
            "memory 1Ti, nvidia.com/gpu 32, on a100: nvidia.com/gpu 8", "Ready"});
  CHECK(queue_json(queue).at("ready") == true);
  CHECK(queue_json(queue).at("share") == "12.5%");
  queue["spec"]["stop"] = "Hold";
  CHECK(queue_rows({queue})[1].back() == "Hold");
}

TEST_CASE("a queue without a status yet has no numbers", "[cli][queue]") {
  CHECK(queue_rows({a_queue("new")})[1] ==
        std::vector<std::string>{"new", "0", "0", "-", "-", "-", "-", "-"});
  CHECK_FALSE(queue_json(a_queue("new")).contains("ready"));
}

TEST_CASE("jobs that wait are listed in the order of their queue", "[cli][queue]") {
  std::vector<JobRow> jobs(5);
  jobs[0].name = "late", jobs[0].queue = "rl", jobs[0].queue_position = 3;
  jobs[0].queued = view::at("2026-11-21T14:02:00Z");
  jobs[1].name = "runs", jobs[1].queue = "rl";
  jobs[2].name = "early", jobs[2].queue = "rl", jobs[2].queue_position = 3;
  jobs[2].queued = view::at("2026-11-21T14:01:00Z");
  jobs[3].name = "first", jobs[3].queue = "rl", jobs[3].queue_position = 1;
  jobs[3].reason = "LimitExceeded", jobs[3].wanted = 5, jobs[3].ns = "team-a";
  jobs[3].queued = view::at("2026-11-21T14:03:00Z");
  jobs[4].name = "preempts", jobs[4].queue = "rl", jobs[4].reason = "Preempting";
  jobs[4].queued = view::at("2026-11-21T14:00:00Z");
  const Rows rows = waiting_rows(find_waiting(jobs), view::at("2026-11-21T14:05:00Z"));
  REQUIRE(rows.size() == 5);
  CHECK(rows[1] ==
        std::vector<std::string>{"team-a", "first", "rl", "1", "5", "LimitExceeded", "2m"});
  CHECK(rows[2][1] == "early");
  CHECK(rows[3][1] == "late");
  CHECK(rows[4] == std::vector<std::string>{"", "preempts", "rl", "-", "0", "Preempting", "5m"});
}

// Nodes n1 and n2 are reserved for the base gang of job dqn in queue rl, and n3 for a request.
gang::PodGroup a_reserving_group() {
  gang::PodGroup group = view::a_group();
  group.meta.ns = "rl";
  group.meta.owner = kube::OwnerRef{"nervex.sensetime.com/v1alpha1", "NerveXJob", "dqn", "u1"};
  group.status.queue.name = "rl";
  group.status.gangs = {view::a_waiting_gang("base", ""), view::a_waiting_gang("request-1", ""),
                        view::a_waiting_gang("request-2", "")};
  const SysTime since = view::at("2026-11-21T14:03:00Z");
  group.status.gangs[0].reservation =
      gang::Reservation{{{"coordinator", "n1", 1}, {"learner", "n1", 1}, {"learner", "n2", 1}},
                        since,
                        view::at("2026-11-21T16:00:30Z")};
  group.status.gangs[1].reservation = gang::Reservation{{{"collector", "n3", 2}}, since, {}};
  return group;
}

TEST_CASE("reserved nodes are listed with who keeps them and the latest start", "[cli][queue]") {
  std::vector<ReservingGang> gangs = find_reserving(a_reserving_group());
  std::reverse(gangs.begin(), gangs.end());
  sort_reserving(gangs);
  const Rows rows = reserving_rows(gangs, view::at("2026-11-21T14:05:00Z"));
  REQUIRE(rows.size() == 3);
  CHECK(rows[1] == std::vector<std::string>{"rl", "dqn", "base", "rl", "2 nodes",
                                            "2026-11-21T16:00:30Z, in 115m, at the latest"});
  CHECK(rows[2] == std::vector<std::string>{"rl", "dqn", "request-1", "rl", "1 node",
                                            "not known: a job on these nodes has no time limit"});
}

TEST_CASE("the JSON of reserved nodes is that of explain", "[cli][queue]") {
  gang::PodGroup group = a_reserving_group();
  group.status.gangs.erase(group.status.gangs.begin() + 1, group.status.gangs.end());
  const Json want = {{"namespace", "rl"},
                     {"name", "dqn"},
                     {"gang", "base"},
                     {"queue", "rl"},
                     {"reservation",
                      {{"nodes", {"n1", "n2"}},
                       {"since", "2026-11-21T14:03:00Z"},
                       {"due", "2026-11-21T16:00:30Z"}}}};
  CHECK(to_json(find_reserving(group).at(0)) == want);
}

}  // namespace
}  // namespace nervex::cli
