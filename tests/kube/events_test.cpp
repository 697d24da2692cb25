#include <condition_variable>
#include <mutex>

#include <catch2/catch_test_macros.hpp>

#include "kube/events.h"
#include "tests/support/fake_api.h"
#include "tests/support/fake_clock.h"
#include "tests/support/wait_until.h"

namespace nervex::kube {
namespace {

using namespace std::chrono_literals;
using testing::FakeApi;
using testing::FakeClock;

const ObjectRef kTheJob{"nervex.sensetime.com/v1alpha1", "NerveXJob", "a", "dqn", "u1"};

TEST_CASE("an event says what happened to which object, when and who says so", "[kube][events]") {
  FakeApi api;
  FakeClock clock;
  EventRecorder recorder(api, clock, "nervex-controller");
  recorder.record(kTheJob,
                  {EventType::kWarning, "FailedCreate", "pod dqn-learner-x2b7k: no quota"});
  const auto events = api.list(kEvents, "a");
  REQUIRE(events.size() == 1);
  Json event = events[0];
  CHECK(string_at(event, {"metadata", "name"}).starts_with("dqn."));
  event.erase("metadata");
  CHECK(event == *parse_json(R"({"apiVersion":"v1","kind":"Event",
      "involvedObject":{"apiVersion":"nervex.sensetime.com/v1alpha1","kind":"NerveXJob",
                        "namespace":"a","name":"dqn","uid":"u1"},
      "type":"Warning","reason":"FailedCreate","message":"pod dqn-learner-x2b7k: no quota",
      "source":{"component":"nervex-controller"},
      "reportingComponent":"nervex-controller","reportingInstance":"",
      "firstTimestamp":"2026-01-01T00:00:00Z","lastTimestamp":"2026-01-01T00:00:00Z","count":1})"));
}

TEST_CASE("different events of one object have different names", "[kube][events]") {
  FakeApi api;
  FakeClock clock;
  EventRecorder recorder(api, clock, "c");
  for (int i = 0; i < 5; ++i) {
    recorder.record(kTheJob, {EventType::kNormal, "R" + std::to_string(i), "m"});
  }
  CHECK(api.list(kEvents, "a").size() == 5);
  CHECK(recorder.stats().created == 5);
}

TEST_CASE("a repeated event increments its count", "[kube][events]") {
  FakeApi api;
  FakeClock clock;
  EventRecorder recorder(api, clock, "c");
  for (int i = 0; i < 3; ++i) {
    recorder.record(kTheJob, {EventType::kNormal, "R", "m"});
    clock.advance(60s);
  }
  const auto events = api.list(kEvents, "a");
  REQUIRE(events.size() == 1);
  CHECK(int_at(events[0], {"count"}) == 3);
  CHECK(string_at(events[0], {"firstTimestamp"}) == "2026-01-01T00:00:00Z");
  CHECK(string_at(events[0], {"lastTimestamp"}) == "2026-01-01T00:02:00Z");
  CHECK(recorder.stats() == EventStats{.created = 1, .patched = 2});
}

TEST_CASE("an event that has expired is written again, with its count", "[kube][events]") {
  FakeApi api;
  FakeClock clock;
  EventRecorder recorder(api, clock, "c");
  recorder.record(kTheJob, {EventType::kNormal, "R", "m"});
  const std::string name = string_at(api.list(kEvents, "a").at(0), {"metadata", "name"});
  api.remove(kEvents, "a", name);
  recorder.record(kTheJob, {EventType::kNormal, "R", "m"});
  const auto events = api.list(kEvents, "a");
  REQUIRE(events.size() == 1);
  CHECK(int_at(events[0], {"count"}) == 2);
}

TEST_CASE("events of cluster-scoped objects live in the default namespace", "[kube][events]") {
  FakeApi api;
  FakeClock clock;
  EventRecorder recorder(api, clock, "c");
  recorder.record({"v1", "Node", "", "n1", "u"}, {EventType::kNormal, "R", "m"});
  const auto events = api.list(kEvents, "default");
  REQUIRE(events.size() == 1);
  CHECK(find(events[0], {"involvedObject", "namespace"}) == nullptr);
}

TEST_CASE("names and messages stay within the API's limits", "[kube][events]") {
  FakeApi api;
  FakeClock clock;
  EventRecorder recorder(api, clock, "c");
  ObjectRef about = kTheJob;
  about.name = std::string(253, 'x');
  recorder.record(about, {EventType::kNormal, "R", std::string(5000, 'm')});
  const auto events = api.list(kEvents, "a");
  REQUIRE(events.size() == 1);
  CHECK(string_at(events[0], {"metadata", "name"}).size() == 253);
  CHECK(string_at(events[0], {"message"}).size() == 1024);
}

TEST_CASE("an event that cannot be written is forgotten", "[kube][events]") {
  FakeApi api;
  FakeClock clock;
  EventRecorder recorder(api, clock, "c");
  api.fail_next("POST", "/events", {Code::kForbidden, "403"});
  recorder.record(kTheJob, {EventType::kNormal, "R", "m"});
  CHECK(api.list(kEvents).empty());
  CHECK(recorder.stats() == EventStats{.failed = 1});
}

// Answers nothing until it is opened.
class ClosedApi final : public Api {
 public:
  explicit ClosedApi(Api& behind) : behind_(behind) {}
  Result<std::string> send(const ApiRequest& request) override {
    std::unique_lock lock(mutex_);
    ++asked_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return open_; });
    return behind_.send(request);
  }
  Result<Nothing> stream(const std::string&, const std::function<bool(std::string_view)>&,
                         std::stop_token) override {
    return ok();
  }
  void wait_until_asked() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return asked_ > 0; });
  }
  void open() {
    std::unique_lock lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }

 private:
  Api& behind_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int asked_ = 0;
  bool open_ = false;
};

TEST_CASE("a hanging API server blocks no caller, and the queue is bounded", "[kube][events]") {
  FakeApi api;
  ClosedApi closed(api);
  FakeClock clock;
  EventRecorder recorder(closed, clock, "c");
  recorder.start();
  const auto record = [&recorder](std::size_t i) {
    ObjectRef about = kTheJob;
    about.uid = std::to_string(i);
    recorder.record(about, {EventType::kNormal, "R", "m"});
  };
  record(0);
  closed.wait_until_asked();  // that one is under way, the others wait
  for (std::size_t i = 1; i <= EventRecorder::kMostQueued + 7; ++i) record(i);
  CHECK(recorder.stats().dropped == 7);
  closed.open();
  CHECK(testing::wait_until(
      [&] { return recorder.stats().created == EventRecorder::kMostQueued + 1; }));
  CHECK(api.list(kEvents, "a").size() == EventRecorder::kMostQueued + 1);
}

TEST_CASE("a recorder stops at once, also with queued events", "[kube][events]") {
  FakeApi api;
  FakeClock clock;
  api.fail_next("POST", "/events", {Code::kTransient, "503"}, testing::Applied::kNo, 100);
  auto recorder = std::make_unique<EventRecorder>(api, clock, "c");
  recorder->start();
  for (const auto* reason : {"A", "B", "C"}) {
    recorder->record(kTheJob, {EventType::kNormal, reason, "m"});
  }
  CHECK(testing::wait_until([&] { return api.writes().size() == 1; }));  // it pauses now
  const auto started = std::chrono::steady_clock::now();
  recorder.reset();
  CHECK(std::chrono::steady_clock::now() - started < 2s);
  CHECK(api.writes().size() == 1);
}

}  // namespace
}  // namespace nervex::kube
