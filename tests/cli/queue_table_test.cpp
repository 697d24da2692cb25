#include "cli/queues/queue_table.h"

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
  std::vector<JobRow> jobs(4);
  jobs[0].name = "late", jobs[0].queue = "rl", jobs[0].queue_position = 3;
  jobs[0].queued = view::at("2026-11-21T14:02:00Z");
  jobs[1].name = "runs", jobs[1].queue = "rl";
  jobs[2].name = "early", jobs[2].queue = "rl", jobs[2].queue_position = 3;
  jobs[2].queued = view::at("2026-11-21T14:01:00Z");
  jobs[3].name = "first", jobs[3].queue = "rl", jobs[3].queue_position = 1;
  jobs[3].reason = "LimitExceeded", jobs[3].wanted = 5, jobs[3].ns = "team-a";
  jobs[3].queued = view::at("2026-11-21T14:03:00Z");
  const Rows rows = waiting_rows(find_waiting(jobs), view::at("2026-11-21T14:05:00Z"));
  REQUIRE(rows.size() == 4);
  CHECK(rows[1] ==
        std::vector<std::string>{"team-a", "first", "rl", "1", "5", "LimitExceeded", "2m"});
  CHECK(rows[2][1] == "early");
  CHECK(rows[3][1] == "late");
}

}  // namespace
}  // namespace nervex::cli
