#include "server/decide/idempotency.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <functional>

#include "server/decide/job_view.h"
#include "tests/server/builders.h"

namespace nervex::server {
namespace {

using namespace std::chrono_literals;
using job::CallRecord;
using job::Role;

const SysTime kNow{std::chrono::hours(500'000)};

CallRecord a_record(std::string key = "") {
  CallRecord record;
  record.attempt = 1;
  record.method = "POST";
  record.body_hash = "h1";
  record.key = std::move(key);
  record.source = "10.0.0.7";
  record.writer = "server-a";
  record.number = 1;
  record.time = kNow - 5s;
  return record;
}

}  // namespace

TEST_CASE("a call without a key is a repeat only if its reply may be lost", "[server][repeats]") {
  struct Row {
    std::string when;
    std::function<void(CallRecord&)> change;
    ReplyState reply;
    bool want;
  };
  constexpr auto kUnknown = ReplyState::kUnknown;
  const auto row = GENERATE(values<Row>({
      {"everything is alike", [](auto&) {}, kUnknown, true},
      {"the first reply was written", [](auto&) {}, ReplyState::kWritten, false},
      {"the method differs", [](CallRecord& r) { r.method = "DELETE"; }, kUnknown, false},
      {"the path differs", [](CallRecord& r) { r.method = "POST failed"; }, kUnknown, false},
      {"the body differs", [](CallRecord& r) { r.body_hash = "h2"; }, kUnknown, false},
      {"the source differs", [](CallRecord& r) { r.source = "10.0.0.8"; }, kUnknown, false},
      {"the first had a key", [](CallRecord& r) { r.key = "k"; }, kUnknown, false},
      {"the attempt differs", [](CallRecord& r) { r.attempt = 0; }, kUnknown, false},
      {"it is nearly too old", [](CallRecord& r) { r.time = kNow - 29'999ms; }, kUnknown, true},
      {"it is too old", [](CallRecord& r) { r.time = kNow - 30s; }, kUnknown, false},
      {"the writer's clock is ahead", [](CallRecord& r) { r.time = kNow + 5s; }, kUnknown, true},
      {"the writer's clock is far ahead", [](CallRecord& r) { r.time = kNow + 1h; }, kUnknown,
       false},
      {"its caller got \"ask again\" a while ago", [](CallRecord& r) { r.time = kNow - 5min; },
       ReplyState::kRetryRequested, true},
  }));
  INFO("when " << row.when);
  job::Job job = running_job();
  job.spec.requests.calls = {a_record()};
  row.change(job.spec.requests.calls[0]);
  const auto found = find_repeat(job, {"POST", "h1", "", "10.0.0.7"}, kNow,
                                 [&](const CallRecord&) { return row.reply; });
  REQUIRE(found);
  CHECK((*found != nullptr) == row.want);
}

TEST_CASE("a key identifies one call, from any address", "[server][repeats]") {
  struct Row {
    std::string when;
    CallId call;
    std::chrono::milliseconds age;
    std::optional<bool> want;  // nullopt: refused
  };
  const auto row = GENERATE(values<Row>({
      {"it comes again", {"POST", "h1", "k", "10.0.0.7"}, 5s, true},
      {"it comes from elsewhere", {"POST", "h1", "k", "10.0.0.8"}, 5s, true},
      {"it comes late", {"POST", "h1", "k", "10.0.0.7"}, 599s, true},
      {"it comes too late", {"POST", "h1", "k", "10.0.0.7"}, 600s, false},
      {"the key is another", {"POST", "h1", "k2", "10.0.0.7"}, 5s, false},
      {"the body is another", {"POST", "h2", "k", "10.0.0.7"}, 5s, std::nullopt},
      {"the record's hash is of another kind, by an older server",
       {"POST", "a-longer-hash", "k", "10.0.0.7"},
       5s,
       true},
      {"the method is another and the hash of another kind",
       {"DELETE", "a-longer-hash", "k", "10.0.0.7"},
       5s,
       std::nullopt},
      {"the method is another", {"DELETE", "h1", "k", "10.0.0.7"}, 5s, std::nullopt},
  }));
  INFO("when " << row.when);
  job::Job job = running_job();
  job.spec.requests.calls = {a_record("k")};
  job.spec.requests.calls[0].time = kNow - row.age;
  const auto found =
      find_repeat(job, row.call, kNow, [](const CallRecord&) { return ReplyState::kWritten; });
  REQUIRE(found.has_value() == row.want.has_value());
  if (row.want) {
    CHECK((*found != nullptr) == *row.want);
  } else {
    CHECK(found.error().code == Code::kConflict);
    CHECK(found.error().message.find("Idempotency-Key k: already used for another") == 0);
  }
}

TEST_CASE("records are kept as long as they are useful", "[server][repeats]") {
  struct Row {
    std::string when;
    std::string key;
    std::chrono::milliseconds age;
    bool kept;
  };
  const auto row = GENERATE(values<Row>({{"young", "", 29s, true},
                                         {"old, but its reply may be owed", "", 599s, true},
                                         {"very old", "", 600s, false},
                                         {"old, with a key", "k", 599s, true},
                                         {"very old, with a key", "k", 600s, false},
                                         {"of a clock far ahead", "k", -1h, false}}));
  INFO("when " << row.when);
  std::vector<CallRecord> calls = {a_record(row.key)};
  calls[0].time = kNow - row.age;
  remember_call(calls, a_record("new"), kNow);
  CHECK((calls.size() == 2) == row.kept);
  CHECK(calls.back().key == "new");
}

TEST_CASE("the newest of too many records stay", "[server][repeats]") {
  std::vector<CallRecord> calls;
  for (int i = 0; i < 1000; ++i) {
    CallRecord record = a_record(i % 2 == 0 ? "" : "k" + std::to_string(i));
    record.number = i;
    remember_call(calls, record, kNow);
  }
  CHECK(calls.size() == kMaxCallsWithKey + kMaxCallsWithoutKey);
  CHECK(calls.back().number == 999);
  CHECK(calls[calls.size() - 2].number == 998);

  CallRecord long_one = a_record();
  long_one.replicas.resize(kMaxRuns + 1);
  remember_call(calls, long_one, kNow);
  CHECK(calls == std::vector{long_one});  // the newest stays, however long it is
  remember_call(calls, a_record(), kNow);
  CHECK(calls == std::vector{a_record()});
}

TEST_CASE("a record stores the replicas of the answer compactly", "[server][repeats]") {
  const job::Job job = running_job();
  Listing named{"rl", "dqn-coordinator", {}, {}};
  for (int ordinal = 4096; ordinal < 5096; ++ordinal) {
    add_address(named, job, Role::kCollector, {ordinal, 0}, 80);
  }
  add_address(named, job, Role::kCollector, {5096, 1}, 80);
  add_address(named, job, Role::kLearner, {5097, 1}, 80);
  add_address(named, job, Role::kAggregator, {5098, 1}, 80);
  const auto runs = collect_runs(job, named);
  CHECK(runs == std::vector<job::ReplicaRun>{{Role::kCollector, {4096, 0}, 1000},
                                             {Role::kCollector, {5096, 1}, 1},
                                             {Role::kLearner, {5097, 1}, 1},
                                             {Role::kAggregator, {5098, 1}, 1}});
  CHECK(make_listing(job, "dqn-coordinator", runs, 80) == named);
}

}  // namespace nervex::server
