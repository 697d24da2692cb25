#include <catch2/catch_test_macros.hpp>

#include "kube/events.h"
#include "tests/support/fake_clock.h"

namespace nervex::kube {
namespace {

using namespace std::chrono_literals;

const ObjectRef kJob{"nervex.sensetime.com/v1alpha1", "NerveXJob", "a", "dqn", "u1"};

// A correlator whose clock the test sets.
struct Desk {
  std::optional<EventWrite> say(const std::string& reason, const std::string& message,
                                const ObjectRef& about = kJob) {
    return correlator.decide(about, {EventType::kNormal, reason, message}, clock.now(),
                             clock.mono());
  }
  testing::FakeClock clock;
  EventCorrelator correlator{7};
};

TEST_CASE("the first event is created, its repeats are patches of it", "[kube][events]") {
  Desk desk;
  const auto first = desk.say("R", "m");
  desk.clock.advance(9min);
  const auto second = desk.say("R", "m");
  desk.clock.advance(9min);  // the window goes on from the last one
  const auto third = desk.say("R", "m");
  REQUIRE((first && second && third));
  const SysTime start{std::chrono::milliseconds(testing::FakeClock::kStartMs)};
  const Event event{EventType::kNormal, "R", "m"};
  const std::string name = "dqn.0000000000000007";
  CHECK(*first == EventWrite{kJob, event, name, true, 1, start, start});
  CHECK(*second == EventWrite{kJob, event, name, false, 2, start, start + 9min});
  CHECK(*third == EventWrite{kJob, event, name, false, 3, start, start + 18min});
}

TEST_CASE("after the window it is a new event", "[kube][events]") {
  Desk desk;
  const auto first = desk.say("R", "m");
  desk.clock.advance(10min + 1s);
  const auto second = desk.say("R", "m");
  REQUIRE((first && second));
  CHECK(second->is_first);
  CHECK(second->count == 1);
  CHECK(second->name != first->name);
}

TEST_CASE("events with another object, type, reason or message are different", "[kube][events]") {
  Desk desk;
  ObjectRef namesake = kJob;
  namesake.uid = "u2";
  CHECK(desk.say("R", "m")->is_first);
  CHECK(desk.say("S", "m")->is_first);
  CHECK(desk.say("R", "n")->is_first);
  CHECK(desk.say("R", "m", namesake)->is_first);
  const auto warning =
      desk.correlator.decide(kJob, {EventType::kWarning, "R", "m"}, {}, desk.clock.mono());
  CHECK(warning->is_first);
}

TEST_CASE("from the eleventh message on similar events are combined into one", "[kube][events]") {
  Desk desk;
  for (int i = 0; i < 10; ++i) CHECK(desk.say("R", "pod " + std::to_string(i))->is_first);
  const auto eleventh = desk.say("R", "pod 10");
  const auto twelfth = desk.say("R", "pod 11");
  REQUIRE((eleventh && twelfth));
  CHECK(eleventh->event.message == "(combined from similar events): pod 10");
  CHECK(eleventh->is_first);
  CHECK(twelfth->event.message == "(combined from similar events): pod 11");
  CHECK_FALSE(twelfth->is_first);
  CHECK(twelfth->name == eleventh->name);
  CHECK(twelfth->count == 2);
  CHECK_FALSE(desk.say("R", "pod 3")->is_first);  // known ones still stand for themselves
  CHECK(desk.say("R", "pod 3")->event.message == "pod 3");
  CHECK(desk.say("S", "pod 12")->event.message == "pod 12");
  desk.clock.advance(11min);
  CHECK(desk.say("R", "pod 13")->event.message == "pod 13");
}

TEST_CASE("one object gets 25 writes at once, then one in five minutes", "[kube][events]") {
  Desk desk;
  int written = 0;
  for (int i = 0; i < 100; ++i) written += desk.say("R", "m") ? 1 : 0;
  CHECK(written == 25);
  ObjectRef other = kJob;
  other.name = "other";
  CHECK(desk.say("R", "m", other));
  desk.clock.advance(4min + 59s);
  CHECK_FALSE(desk.say("R", "m"));
  desk.clock.advance(1s);
  const auto next = desk.say("R", "m");
  REQUIRE(next);
  CHECK(next->count == 102);  // suppressed events are counted
  CHECK_FALSE(desk.say("R", "m"));
}

TEST_CASE("an event that was kept back at first is created later, not patched", "[kube][events]") {
  Desk desk;
  for (int i = 0; i < 25; ++i) (void)desk.say("R", "m");
  CHECK_FALSE(desk.say("S", "late"));
  desk.clock.advance(5min);
  const auto late = desk.say("S", "late");
  REQUIRE(late);
  CHECK(late->is_first);
  CHECK(late->count == 2);
}

TEST_CASE("the least recently seen entries are forgotten", "[kube][events]") {
  EventCorrelator correlator(1, 3);
  const auto say = [&](const std::string& uid) {
    ObjectRef about = kJob;
    about.uid = uid;
    return correlator.decide(about, {EventType::kNormal, "R", "m"}, {}, MonoTime{})->is_first;
  };
  for (const auto* uid : {"1", "2", "3"}) CHECK(say(uid));
  CHECK_FALSE(say("1"));
  CHECK(say("4"));  // "2" makes capacity
  CHECK_FALSE(say("1"));
  CHECK(say("2"));
}

}  // namespace
}  // namespace nervex::kube
