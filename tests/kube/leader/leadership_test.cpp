#include "kube/leader/leadership.h"

#include <catch2/catch_test_macros.hpp>

#include "tests/support/fake_api.h"
#include "tests/support/fake_clock.h"
#include "tests/support/wait_until.h"

namespace nervex::kube {
namespace {

using namespace std::chrono_literals;
using testing::FakeApi;
using testing::FakeClock;
using testing::wait_until;

LeaseOptions quick(const std::string& identity) {
  LeaseOptions options;
  options.lease.name = "nervex-controller";
  options.identity = identity;
  options.lease_duration = 15s;
  options.renew_deadline = 10s;
  options.retry_period = 5ms;  // real time between tries; leases run by the FakeClock
  return options;
}

std::string holder(const FakeApi& api) {
  return decode_lease(api.get(kLeases, "nervex-system", "nervex-controller")).holder;
}

TEST_CASE("waiting for leadership ends with leadership or a stop", "[kube][leadership]") {
  FakeApi api;
  FakeClock clock;
  Leadership a(api, clock, quick("a"), [] {});
  Leadership b(api, clock, quick("b"), [] {});
  std::stop_source stop;
  a.start();
  REQUIRE(a.wait(stop.get_token()));
  CHECK(a.may_write());
  b.start();
  bool led = true;
  std::jthread waiter([&] { led = b.wait(stop.get_token()); });
  stop.request_stop();
  waiter.join();
  CHECK_FALSE(led);

  a.release();
  CHECK_FALSE(a.may_write());
  CHECK(b.wait({}));
  CHECK(holder(api) == "b");
}

TEST_CASE("a candidate that cannot read the lease is not ready", "[kube][leadership]") {
  FakeApi api;
  FakeClock clock;
  api.fail_next("", "/leases", {Code::kForbidden, "forbidden"}, testing::Applied::kNo, 1'000'000);
  Leadership a(api, clock, quick("a"), [] {});
  a.start();
  CHECK(a.check_ready());  // it has only just begun
  clock.advance(16s);
  CHECK(a.check_ready().error().message ==
        "the lease nervex-system/nervex-controller could not be read or created for 16 s (see the "
        "log)");
}

TEST_CASE("a candidate that waits for another is ready, and so is a leader", "[kube][leadership]") {
  FakeApi api;
  FakeClock clock;
  Leadership a(api, clock, quick("a"), [] {});
  Leadership b(api, clock, quick("b"), [] {});
  a.start();
  REQUIRE(a.wait({}));
  b.start();
  for (int i = 0; i < 4; ++i) {  // a renews meanwhile, and b sees it
    const std::size_t renewals = api.writes("PUT", "/leases").size();
    clock.advance(5s);
    CHECK(wait_until([&] { return api.writes("PUT", "/leases").size() > renewals + 1; }));
    CHECK(wait_until([&] { return b.check_ready().has_value(); }));
  }
  CHECK(a.check_ready());
}

TEST_CASE("without election every replica leads, and no lease is written", "[kube][leadership]") {
  FakeApi api;
  FakeClock clock;
  Leadership a(api, clock, std::nullopt, [] {});
  CHECK_FALSE(a.is_leader());
  a.start();
  CHECK(a.wait({}));
  CHECK(a.may_write());
  CHECK(a.check_live());
  a.release();
  CHECK_FALSE(a.may_write());
  CHECK(api.requests() == 0);
}

// An API server that takes requests and never answers, until the end of the test.
class Hung final : public Api {
 public:
  explicit Hung(FakeApi& api) : api_(api) {}
  Result<std::string> send(const ApiRequest& request) override {
    if (!hangs_) return api_.send(request);
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !hangs_; });
    return Error{Code::kTransient, "timeout"};
  }
  Result<Nothing> stream(const std::string&, const std::function<bool(std::string_view)>&,
                         std::stop_token) override {
    return ok();
  }
  void hang(bool on) {
    const std::lock_guard lock(mutex_);
    hangs_ = on;
    changed_.notify_all();
  }

 private:
  FakeApi& api_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<bool> hangs_ = false;
};

TEST_CASE("the deadline is noticed while the API server does not answer", "[kube][leadership]") {
  FakeApi fake;
  FakeClock clock;
  Hung api(fake);
  std::atomic<int> lost = 0;
  Leadership a(api, clock, quick("a"), [&] { ++lost; });
  a.start();
  REQUIRE(a.wait({}));
  api.hang(true);
  clock.advance(11s);
  CHECK(wait_until([&] { return lost == 1; }));
  CHECK_FALSE(a.may_write());
  CHECK_FALSE(a.is_leader());
  api.hang(false);
  a.release();
  CHECK(lost == 1);
  CHECK(holder(fake) == "a");  // another replica may hold it by now
}

TEST_CASE("a leader's writes are refused once another replica may hold the lease",
          "[kube][leadership]") {
  FakeApi fake;
  FakeClock clock;
  Hung lease_api(fake);
  Leadership a(lease_api, clock, quick("a"), [] {});
  LeaderApi api(fake, a);
  const Json pod = {{"metadata", {{"name", "p"}}}};

  const auto early = create_object(api, kPods, "ns", pod);
  REQUIRE_FALSE(early);
  CHECK(early.error().code == Code::kTransient);
  CHECK(early.error().message.find("not the leader") != std::string::npos);
  CHECK(fake.writes().empty());

  a.start();
  REQUIRE(a.wait({}));
  CHECK(create_object(api, kPods, "ns", pod));

  lease_api.hang(true);
  clock.advance(15s);  // the process was stopped for as long; nothing of it has run since
  fake.clear_writes();
  CHECK_FALSE(merge_patch(api, kPods, "ns", "p", {{"metadata", {{"labels", {{"a", "b"}}}}}}));
  CHECK_FALSE(delete_object(api, kPods, "ns", "p", "uid-2"));
  CHECK(fake.writes().empty());
  CHECK(get_object(api, kPods, "ns", "p"));  // reads pass
  lease_api.hang(false);
}

}  // namespace
}  // namespace nervex::kube
