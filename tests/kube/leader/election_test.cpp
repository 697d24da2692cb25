#include "kube/leader/election.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_adapters.hpp>
#include <catch2/generators/catch_generators_random.hpp>

#include <random>

#include "tests/support/fake_api.h"
#include "tests/support/fake_clock.h"

namespace nervex::kube {
namespace {

using namespace std::chrono_literals;
using testing::Applied;
using testing::FakeApi;
using testing::FakeClock;

constexpr const char* kNs = "nervex-system";
constexpr const char* kName = "nervex-controller";
constexpr const char* kPath = "/leases/nervex-controller";

LeaseOptions make_lease_options(const std::string& identity) {
  LeaseOptions options;
  options.lease.name = kName;
  options.identity = identity;
  return options;
}

// Two candidates and one API server. Each has a separate monotonic clock.
struct Two {
  FakeApi api;
  FakeClock clock_a, clock_b;
  LeaseElection a{api, clock_a, make_lease_options("a")};
  LeaseElection b{api, clock_b, make_lease_options("b")};

  void advance(std::chrono::milliseconds time) {
    clock_a.advance(time);
    clock_b.advance(time);
  }
  LeaseRecord record() const { return decode_lease(api.get(kLeases, kNs, kName)); }
  // Both try once a retry period, for `time`.
  void live(std::chrono::milliseconds time) {
    for (auto passed = 0ms; passed < time; passed += 2s) {
      advance(2s);
      a.try_acquire_or_renew();
      b.try_acquire_or_renew();
    }
  }
};

// From the FakeApi's own hand: a holder that is neither a nor b.
Json foreign_lease(const std::string& holder) {
  LeaseRecord record;
  record.holder = holder;
  record.duration = 15s;
  record.renew_time = "2026-01-01T00:00:00.000000Z";
  return encode_lease(nullptr, record, make_lease_options(holder));
}

const Error kTimeout{Code::kTransient, "timeout"};

TEST_CASE("the first candidate leads, the second waits while it renews", "[kube][lease]") {
  Two t;
  t.a.try_acquire_or_renew();
  t.b.try_acquire_or_renew();
  CHECK(t.a.is_leader());
  CHECK(t.a.may_write());
  CHECK_FALSE(t.b.is_leader());
  CHECK_FALSE(t.b.may_write());

  const std::string acquired = t.record().acquire_time;
  t.live(60s);
  CHECK(t.a.is_leader());
  CHECK_FALSE(t.b.is_leader());
  CHECK(t.record().holder == "a");
  CHECK(t.record().transitions == 0);
  CHECK(t.record().acquire_time == acquired);
  CHECK(t.record().renew_time == to_rfc3339_micro(t.clock_a.now()));
}

TEST_CASE("a renewal is one request", "[kube][lease]") {
  Two t;
  t.a.try_acquire_or_renew();
  const int before = t.api.requests();
  t.advance(2s);
  t.a.try_acquire_or_renew();
  CHECK(t.api.requests() == before + 1);
}

TEST_CASE("of two that create the lease at once one leads", "[kube][lease]") {
  Two t;
  // b looked before a had written, and writes after it.
  t.api.fail_next("GET", kPath, {Code::kNotFound, "no such lease"}, Applied::kNo, 2);
  t.a.try_acquire_or_renew();
  t.b.try_acquire_or_renew();
  CHECK(t.a.is_leader());
  CHECK_FALSE(t.b.is_leader());
  t.b.try_acquire_or_renew();
  CHECK_FALSE(t.b.is_leader());
  CHECK(t.record().holder == "a");
}

TEST_CASE("of two that take an expired lease at once one leads", "[kube][lease]") {
  Two t;
  t.api.add(kLeases, kNs, foreign_lease("gone"));
  t.a.try_acquire_or_renew();
  t.b.try_acquire_or_renew();
  t.advance(15s);
  t.api.fail_next("PUT", kPath, {Code::kConflict, "the object has been modified"});
  t.a.try_acquire_or_renew();  // as if b's write had come first
  t.b.try_acquire_or_renew();
  CHECK_FALSE(t.a.is_leader());
  CHECK(t.b.is_leader());
  t.a.try_acquire_or_renew();
  CHECK_FALSE(t.a.is_leader());
}

TEST_CASE("a leader that was paused past its lease writes nothing and sees its replacement",
          "[kube][lease]") {
  Two t;
  t.a.try_acquire_or_renew();
  t.b.try_acquire_or_renew();
  t.advance(14s);
  t.b.try_acquire_or_renew();
  CHECK_FALSE(t.b.is_leader());
  t.advance(1s);
  t.b.try_acquire_or_renew();
  CHECK(t.b.is_leader());
  CHECK(t.record().transitions == 1);

  CHECK_FALSE(t.a.may_write());  // before it has looked at anything
  const auto writes = t.api.writes().size();
  t.a.try_acquire_or_renew();
  CHECK(t.a.is_lost());
  CHECK(t.api.writes().size() == writes);
  t.live(60s);  // and it never comes back
  CHECK(t.a.is_lost());
  CHECK(t.b.is_leader());
}

TEST_CASE("two candidates never have the right to write at once", "[kube][lease][property]") {
  const auto seed = GENERATE(take(200, random(0U, 1'000'000U)));
  INFO("seed " << seed);
  std::mt19937 rng(seed);
  const auto chance = [&rng](unsigned percent) { return rng() % 100 < percent; };
  Two t;
  t.a.try_acquire_or_renew();
  t.b.try_acquire_or_renew();  // who never saw a lease cannot know that a deleted one has a holder
  // Once: a lease that its holder makes again and that is deleted once more was gone all the time
  // to a candidate that did not look in between.
  bool was_removed = false;
  for (int i = 0; i < 200; ++i) {
    t.advance(std::chrono::milliseconds(rng() % 4000));
    if (chance(10)) t.api.fail_next("PUT", kPath, kTimeout, Applied::kYes);
    if (chance(10)) t.api.fail_next("", "/leases", kTimeout, Applied::kNo);
    if (chance(2) && !was_removed) was_removed = t.api.remove(kLeases, kNs, kName);
    if (chance(60)) t.a.try_acquire_or_renew();
    if (chance(60)) t.b.try_acquire_or_renew();
    const bool one_at_most = !(t.a.may_write() && t.b.may_write());
    CHECK(one_at_most);
    if (t.a.is_lost() || t.b.is_lost()) break;
  }
}

TEST_CASE("a leader that cannot renew gives up at its deadline, before others may lead",
          "[kube][lease]") {
  Two t;
  t.a.try_acquire_or_renew();
  t.b.try_acquire_or_renew();
  t.api.fail_next("PUT", kPath, kTimeout, Applied::kNo, 100);
  t.api.fail_next("GET", kPath, kTimeout, Applied::kNo, 100);
  for (int i = 0; i < 4; ++i) {
    t.advance(2s);
    t.a.try_acquire_or_renew();
    CHECK(t.a.is_leader());
  }
  t.advance(2s);
  CHECK(t.a.may_write());  // the lease itself lives for another 5 s
  CHECK(t.a.lose_if_late());
  CHECK_FALSE(t.a.may_write());
}

TEST_CASE("a leader whose call hangs loses the right to write with the lease", "[kube][lease]") {
  Two t;
  t.a.try_acquire_or_renew();
  t.advance(14999ms);
  CHECK(t.a.may_write());
  t.advance(1ms);
  CHECK_FALSE(t.a.may_write());
  CHECK(t.a.unrenewed_for() == 15s);
}

TEST_CASE("the right to write is counted from before the renewal was sent", "[kube][lease]") {
  // The API server takes 3 s to answer the renewal.
  class Slow final : public Api {
   public:
    Slow(FakeApi& api, FakeClock& clock) : api_(api), clock_(clock) {}
    Result<std::string> send(const ApiRequest& request) override {
      auto reply = api_.send(request);
      if (request.method == "PUT") clock_.advance(3s);
      return reply;
    }
    Result<Nothing> stream(const std::string& path,
                           const std::function<bool(std::string_view line)>& on_line,
                           std::stop_token stop) override {
      return api_.stream(path, on_line, std::move(stop));
    }

   private:
    FakeApi& api_;
    FakeClock& clock_;
  };
  FakeApi api;
  FakeClock clock;
  Slow slow(api, clock);
  LeaseElection a(slow, clock, make_lease_options("a"));
  a.try_acquire_or_renew();
  a.try_acquire_or_renew();
  REQUIRE(a.is_leader());
  CHECK(a.unrenewed_for() == 3s);
  clock.advance(12s);
  CHECK_FALSE(a.may_write());
}

TEST_CASE("a lost reply is resolved by a read", "[kube][lease]") {
  const auto applied = GENERATE(Applied::kNo, Applied::kYes);
  Two t;
  t.api.fail_next("POST", "/leases", kTimeout, applied);
  t.a.try_acquire_or_renew();
  CHECK_FALSE(t.a.may_write());  // it may be ours, but that is not known
  t.advance(2s);
  t.a.try_acquire_or_renew();
  CHECK(t.a.is_leader());
  CHECK(t.record().transitions == 0);

  t.advance(2s);
  t.api.fail_next("PUT", kPath, kTimeout, applied);
  t.a.try_acquire_or_renew();
  CHECK(t.a.is_leader());
  CHECK(t.a.unrenewed_for() == 0s);  // it was asked again at once
}

TEST_CASE("an edit of the lease by hand does not cost leadership", "[kube][lease]") {
  Two t;
  t.a.try_acquire_or_renew();
  t.api.change(kLeases, kNs, kName, {{"metadata", {{"labels", {{"team", "ml"}}}}}});
  t.advance(2s);
  t.a.try_acquire_or_renew();
  CHECK(t.a.is_leader());
  CHECK(t.a.unrenewed_for() == 0s);
  CHECK(t.api.get(kLeases, kNs, kName)["metadata"]["labels"]["team"] == "ml");
}

TEST_CASE("a holder's wrong wall clock has no effect", "[kube][lease]") {
  const std::string time = GENERATE("1999-01-01T00:00:00Z", "2099-01-01T00:00:00Z", "yesterday");
  INFO("it says " << time);
  Two t;
  Json lease = foreign_lease("skewed");
  lease["spec"]["renewTime"] = time;
  t.api.add(kLeases, kNs, lease);
  t.a.try_acquire_or_renew();
  t.advance(14s);
  t.a.try_acquire_or_renew();
  CHECK_FALSE(t.a.is_leader());
  t.advance(1s);
  t.a.try_acquire_or_renew();
  CHECK(t.a.is_leader());
}

TEST_CASE("a leader creates a deleted lease again", "[kube][lease]") {
  Two t;
  t.live(4s);
  t.api.remove(kLeases, kNs, kName);
  t.advance(1s);
  t.b.try_acquire_or_renew();  // sees that it was deleted, and that its holder may not know
  CHECK_FALSE(t.b.is_leader());
  t.advance(1s);
  t.a.try_acquire_or_renew();
  CHECK(t.a.is_leader());
  CHECK(t.record().holder == "a");
  t.live(30s);
  CHECK(t.a.is_leader());
}

TEST_CASE("a leader steps down at once when it sees another's name", "[kube][lease]") {
  Two t;
  t.a.try_acquire_or_renew();
  t.api.change(kLeases, kNs, kName, {{"spec", {{"holderIdentity", "c"}}}});
  t.advance(2s);
  t.a.try_acquire_or_renew();
  CHECK(t.a.is_lost());
  CHECK(t.record().holder == "c");
}

TEST_CASE("a released lease is acquired at once", "[kube][lease]") {
  Two t;
  t.live(4s);
  t.a.release();
  CHECK_FALSE(t.a.may_write());
  CHECK(t.record().holder.empty());
  CHECK(t.record().duration == 1s);
  t.b.try_acquire_or_renew();
  CHECK(t.b.is_leader());
  CHECK(t.record().transitions == 1);
}

TEST_CASE("a lease is released also after a lost reply", "[kube][lease]") {
  Two t;
  t.a.try_acquire_or_renew();
  t.advance(2s);
  t.api.fail_next("PUT", kPath, kTimeout, Applied::kYes);
  t.api.fail_next("GET", kPath, kTimeout, Applied::kNo);
  t.a.try_acquire_or_renew();  // stored, but unknown here
  t.a.release();
  CHECK(t.record().holder.empty());
}

TEST_CASE("only the holder releases the lease", "[kube][lease]") {
  Two t;
  t.a.try_acquire_or_renew();
  t.b.try_acquire_or_renew();
  t.b.release();
  CHECK(t.record().holder == "a");
}

TEST_CASE("nothing is written while the API server cannot be asked", "[kube][lease]") {
  Two t;
  t.api.fail_next("GET", kPath, kTimeout, Applied::kNo, 1);
  t.a.try_acquire_or_renew();
  CHECK(t.api.writes().empty());
}

}  // namespace
}  // namespace nervex::kube
