#include "kube/leader/lease.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

namespace nervex::kube {
namespace {

using namespace std::chrono_literals;

LeaseOptions make_lease_options(const std::string& identity) {
  LeaseOptions options;
  options.lease.name = "nervex-controller";
  options.identity = identity;
  return options;
}

LeaseRecord held_by(const std::string& holder, std::chrono::seconds duration = 15s) {
  return {holder, duration, "2026-11-21T10:00:00.000000Z", "2026-11-21T10:00:04.000000Z", 3};
}

MonoTime at(std::chrono::milliseconds time) { return MonoTime(1h) + time; }

TEST_CASE("a candidate decides by the observed lease and its own clock", "[kube][lease]") {
  struct Row {
    std::string when;
    std::optional<LeaseRecord> record;
    bool exists = false;
    std::chrono::milliseconds changed_at{0};
    std::optional<std::chrono::milliseconds> renewed_at;
    std::chrono::milliseconds now{0};
    LeaseStep want;
  };
  const auto row = GENERATE(values<Row>({
      {"there never was a lease", {}, false, 0s, {}, 0s, LeaseStep::kAcquire},
      {"it was given back", held_by("", 1s), true, 0s, {}, 0s, LeaseStep::kAcquire},
      {"another holds it", held_by("b"), true, 0s, {}, 14999ms, LeaseStep::kWait},
      {"another did not renew it", held_by("b"), true, 0s, {}, 15s, LeaseStep::kAcquire},
      {"another's lease is longer than ours",
       held_by("b", 60s),
       true,
       0s,
       {},
       59s,
       LeaseStep::kWait},
      {"another's lease has no duration", held_by("b", 0s), true, 0s, {}, 14s, LeaseStep::kWait},
      {"another's lease without duration is old",
       held_by("b", 0s),
       true,
       0s,
       {},
       15s,
       LeaseStep::kAcquire},
      {"another's lease was deleted by hand", held_by("b"), false, 0s, {}, 10s, LeaseStep::kWait},
      {"it was deleted, and its holder has ended",
       held_by("b"),
       false,
       0s,
       {},
       15s,
       LeaseStep::kAcquire},
      {"it is ours, but we did not know", held_by("a"), true, 0s, {}, 1s, LeaseStep::kRenew},
      {"we lead", held_by("a"), true, 0s, 0s, 9999ms, LeaseStep::kRenew},
      {"we lead, and it was deleted by hand", held_by("a"), false, 0s, 0s, 2s, LeaseStep::kRenew},
      {"we lead and could not renew for too long", held_by("a"), true, 0s, 0s, 10s,
       LeaseStep::kStepDown},
      {"we led and another took it", held_by("b"), true, 0s, 0s, 1s, LeaseStep::kStepDown},
      {"we led and another's lease is expired by now", held_by("b"), true, -20s, 0s, 1s,
       LeaseStep::kStepDown},
  }));
  INFO("when " << row.when);
  LeaseView view{row.record, row.exists, at(row.changed_at), {}};
  if (row.renewed_at) view.renewed_at = at(*row.renewed_at);
  CHECK(next_step(view, make_lease_options("a"), at(row.now)) == row.want);
}

TEST_CASE("a claim keeps what a renewal must not change", "[kube][lease]") {
  const SysTime now{1'767'225'600'000ms};  // 2026-01-01
  const std::string today = "2026-01-01T00:00:00.000000Z";
  const auto options = make_lease_options("a");
  CHECK(claim({}, options, now) == LeaseRecord{"a", 15s, today, today, 0});
  CHECK(claim({held_by("b"), true, {}, {}}, options, now) ==
        LeaseRecord{"a", 15s, today, today, 4});
  CHECK(claim({held_by("", 1s), true, {}, {}}, options, now) ==
        LeaseRecord{"a", 15s, today, today, 4});
  CHECK(claim({held_by("a"), true, {}, {}}, options, now) ==
        LeaseRecord{"a", 15s, "2026-11-21T10:00:00.000000Z", today, 3});
  CHECK(give_back(held_by("a"), now) == LeaseRecord{"", 1s, today, today, 3});
}

TEST_CASE("a lease duration is written in whole seconds, rather more than less", "[kube][lease]") {
  auto options = make_lease_options("a");
  options.lease_duration = 1500ms;
  CHECK(claim({}, options, SysTime{}).duration == 2s);
}

TEST_CASE("a lease record decodes from the object", "[kube][lease]") {
  const auto options = make_lease_options("a");
  const LeaseRecord record = held_by("a");
  const Json fresh = encode_lease(nullptr, record, options);
  CHECK(decode_lease(fresh) == record);
  CHECK(fresh["metadata"] == Json{{"namespace", "nervex-system"}, {"name", "nervex-controller"}});

  const Json theirs = {{"metadata", {{"resourceVersion", "7"}, {"labels", {{"a", "b"}}}}},
                       {"spec", {{"holderIdentity", "b"}, {"strategy", "OldestEmulationVersion"}}}};
  const Json ours = encode_lease(theirs, record, options);
  CHECK(ours["metadata"] == theirs["metadata"]);
  CHECK(ours["spec"]["strategy"] == "OldestEmulationVersion");
  CHECK(decode_lease(ours) == record);
}

TEST_CASE("a lease with odd or missing fields is read as empty ones", "[kube][lease]") {
  CHECK(decode_lease(Json::object()) == LeaseRecord{});
  CHECK(decode_lease({{"spec", nullptr}}) == LeaseRecord{});
  CHECK(decode_lease({{"spec",
                       {{"holderIdentity", 7},
                        {"leaseDurationSeconds", -3},
                        {"leaseTransitions", "many"}}}}) == LeaseRecord{});
}

TEST_CASE("durations that cannot work together are refused", "[kube][lease]") {
  struct Row {
    std::string when;
    std::chrono::milliseconds lease, renew, retry;
    std::string named;  // "": fine
  };
  const auto row = GENERATE(values<Row>({
      {"they are the defaults", 15s, 10s, 2s, ""},
      {"they are short", 2s, 1500ms, 500ms, ""},
      {"the lease ends with the deadline", 10s, 10s, 2s, "lease duration must exceed"},
      {"the deadline leaves no second try", 15s, 2400ms, 2s, "renew deadline must exceed"},
      {"the retry period is zero", 15s, 10s, 0s, "retry period"},
      {"the lease is too short to write", 900ms, 500ms, 100ms, "a second or more"},
  }));
  INFO("when " << row.when);
  LeaseOptions options;
  options.lease_duration = row.lease;
  options.renew_deadline = row.renew;
  options.retry_period = row.retry;
  const auto checked = check(options);
  REQUIRE(checked.has_value() == row.named.empty());
  if (!checked) CHECK(checked.error().message.find(row.named) != std::string::npos);
}

TEST_CASE("no two identities are the same", "[kube][lease]") {
  const std::string one = make_lease_identity();
  CHECK(one != make_lease_identity());
  const auto split = one.rfind('_');
  REQUIRE(split != std::string::npos);
  CHECK(split > 0);
  CHECK(one.size() - split - 1 == 36);  // a UUID
}

}  // namespace
}  // namespace nervex::kube
