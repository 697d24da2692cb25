#include <catch2/catch_test_macros.hpp>

#include "kube/events.h"
#include "tests/support/fake_api.h"
#include "tests/support/fake_clock.h"

namespace nervex::kube {
namespace {

using testing::FakeApi;
using testing::FakeClock;

const ObjectRef kJob{"nervex.sensetime.com/v1alpha1", "NerveXJob", "a", "dqn", "u1"};

TEST_CASE("an event says what happened to which object, when and who says so", "[kube][events]") {
  FakeApi api;
  FakeClock clock;
  EventRecorder recorder(api, clock, "nervex-controller");
  recorder.record(kJob, {EventType::kWarning, "FailedCreate", "pod dqn-learner-x2b7k: no quota"});
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

TEST_CASE("events of one object have different names", "[kube][events]") {
  FakeApi api;
  FakeClock clock;
  EventRecorder recorder(api, clock, "c");
  for (int i = 0; i < 5; ++i) recorder.record(kJob, {EventType::kNormal, "R", "m"});
  CHECK(api.list(kEvents, "a").size() == 5);
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
  ObjectRef about = kJob;
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
  api.fail_next("POST", "/events", {Code::kDenied, "403"});
  recorder.record(kJob, {EventType::kNormal, "R", "m"});
  CHECK(api.list(kEvents).empty());
}

}  // namespace
}  // namespace nervex::kube
