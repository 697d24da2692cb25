#include "cli/jobs/job_row.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "tests/support/job_snapshots.h"

namespace nervex::cli {
namespace {

using view::at;

const SysTime kListTime = at("2026-11-21T14:05:00Z");

job::Job a_waiting_job() {
  job::Job job = view::a_snapshot(job::Phase::kCreated).job;
  job.status.reason = "Unschedulable";
  job.status.desired = 3;
  job.status.waiting_since = at("2026-11-21T14:03:00Z");
  return job;
}

TEST_CASE("a line of the list shows phase, ready pods, reason and age", "[cli][list]") {
  const JobRow row = make_job_row(a_waiting_job());
  const Paint plain(false);
  CHECK(job_header({}) ==
        std::vector<std::string>{"NAME", "PHASE", "QUEUE", "POSITION", "READY", "REASON", "AGE"});
  CHECK(job_cells(row, {}, kListTime, plain) ==
        std::vector<std::string>{"dqn", "Created", "-", "-", "0/3", "Unschedulable", "5m"});
  const JobColumns all{true, true};
  const auto cells = job_cells(row, all, kListTime, plain);
  CHECK(cells.size() == job_header(all).size());
  CHECK(cells[0] == "rl");
  CHECK(cells[8] == "2m");  // QUEUED
}

TEST_CASE("a job that nothing has seen yet, or that is being deleted, says so", "[cli][list]") {
  JobRow row;
  row.name = "new";
  row.created = kListTime;
  CHECK(job_cells(row, {}, kListTime, Paint(false)) ==
        std::vector<std::string>{"new", "-", "-", "-", "0/0", "-", "0s"});
  row.is_deleting = true;
  CHECK(job_cells(row, {}, kListTime, Paint(false))[5] == "BeingDeleted");
}

TEST_CASE("a job counts as queued only while it waits for capacity", "[cli][list]") {
  job::Job job = a_waiting_job();
  CHECK(make_job_row(job).queued.has_value());
  SECTION("not once it has its placement") { job.status.active_since = kListTime; }
  SECTION("not while it is suspended") { job.spec.suspend = true; }
  SECTION("not after its end") { job.status.phase = job::Phase::kFailed; }
  CHECK_FALSE(make_job_row(job).queued.has_value());
}

TEST_CASE("a line shows the queue and the position in it", "[cli][list]") {
  job::Job job = a_waiting_job();
  job.status.queue.name = "vision";
  struct Row {
    int position;
    std::string want;
  };
  const auto row = GENERATE(values<Row>({{0, "-"}, {1, "1"}, {2, "2"}, {3, "3+"}, {10, "10+"}}));
  job.status.queue.position = row.position;
  const JobRow line = make_job_row(job);
  const auto cells = job_cells(line, {}, kListTime, Paint(false));
  CHECK(cells[2] == "vision");
  CHECK(cells[3] == row.want);
  CHECK(to_json(line).at("queue") == "vision");
  CHECK(to_json(line).contains("queuePosition") == (row.position > 0));
}

TEST_CASE("jobs are sorted by name, then by the chosen column", "[cli][list]") {
  struct Row {
    JobSort by;
    std::string want;
  };
  const auto row = GENERATE(values<Row>({{JobSort::kName, "abc"},
                                         {JobSort::kAge, "cab"},
                                         {JobSort::kPhase, "bac"},
                                         {JobSort::kReady, "bca"}}));
  std::vector<JobRow> rows(3);
  rows[0].name = "c", rows[0].created = kListTime, rows[0].phase = "Running", rows[0].ready = 1;
  rows[1].name = "a", rows[1].phase = "Failed";
  rows[2].name = "b", rows[2].phase = "Created", rows[2].ready = 2;
  sort_rows(rows, row.by);
  CHECK(rows[0].name + rows[1].name + rows[2].name == row.want);
}

TEST_CASE("the JSON form of a line has no field for what does not apply", "[cli][list]") {
  const Json json = to_json(make_job_row(a_waiting_job()));
  CHECK(json.at("namespace") == "rl");
  CHECK(json.at("wanted") == 3);
  CHECK(json.at("queued") == "2026-11-21T14:03:00Z");
  CHECK_FALSE(json.contains("completed"));
  CHECK_FALSE(json.contains("deleting"));
}

}  // namespace
}  // namespace nervex::cli
