#include "gang/pod_group.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "tests/support/gang_builders.h"

namespace nervex::gang {
namespace {

PodGroup a_pod_group() {
  PodGroup group;
  group.meta.ns = "team-a";
  group.meta.name = "dqn-1";
  group.meta.uid = "uid-1";
  group.meta.resource_version = "17";
  group.meta.generation = 3;
  group.spec.attempt = 2;
  group.spec.priority = -5;
  group.spec.queued_since = SysTime(std::chrono::milliseconds(1'795'269'364'123));
  group.spec.schedule_timeout_seconds = 3600;
  group.spec.preemptible = true;
  group.spec.active_deadline_seconds = 7200;
  group.spec.active_seconds = 90;
  group.spec.grace_seconds = 30;
  group.spec.gangs = testing::make_gangs(
      {testing::a_set("coordinator", 1, testing::ask(0, 2)),
       testing::selecting(testing::a_set("learner", 2, testing::ask(8, 4)), "pool", "gpu"),
       testing::in_request(testing::a_set("ddp-learner", 1, testing::ask(0)), 7),
       testing::in_gang(testing::a_set("collector", 1, testing::ask(0)),
                        {"base-collector-2", GangKind::kAddedReplicas, 0, 2, {}})});
  group.spec.direct_placement = true;
  group.spec.gangs[0].members[0].bind_last = true;
  group.spec.gangs[1].members[0].heals_alone = true;
  group.spec.gangs[0].members[1].reserved_pods = 3;
  group.spec.gangs[0].members[1] = testing::preferring(group.spec.gangs[0].members[1], "fast", 10);
  group.spec.gangs[0].members[1].shape.claims = {"data", "logs"};
  group.spec.gangs[0].members[1].shape.together = {"topology.kubernetes.io/zone#00000000000000ab"};
  group.spec.gangs[0].members[1].shape.requests.set("hostPort:TCP/8080", 1);
  group.spec.gangs[0].members[1].shape.requests.set("podAntiAffinity:zone#4e", 1);
  group.spec.gangs[0].members[1].shape.constraints.edit([](kube::NodeConstraints& constraints) {
    constraints.tolerations = Json::array({{{"operator", "Exists"}}});
    constraints.node_selector_terms = Json::array(
        {{{"matchExpressions", {{{"key", "zone"}, {"operator", "In"}, {"values", {"a"}}}}}}});
  });
  group.spec.gangs[1].members[0].slots = {{4096, 1}};
  group.spec.gangs[1].members[0].part = 1;
  group.spec.gangs[1].members[0].growing = {0, 4};
  group.spec.gangs[1].members[0].from_reserved = {"collector", 1};
  group.status.observed_generation = 3;
  group.status.next_placement = 9;
  group.status.gangs = {
      {"base",
       true,
       true,
       "Planned",
       "3 pods are placed",
       SysTime(std::chrono::milliseconds(1'795'269'365'000)),
       {{"coordinator", {0, 0}, "n1", 1},
        {"learner", {0, 0}, "n2", 2},
        {"learner", {1, 0}, "n2", 3}},
       {{"learner", "n2", 2}, {"learner", "n3", 1}, {"request-7-ddp-learner", "n1", 1}}},
      {"request-6",
       false,
       true,
       "Healing",
       "1 pod is placed",
       SysTime{},
       {{"learner", {4096, 2}, "n2", 4}},
       {},
       {},
       SysTime(std::chrono::milliseconds(1'795'269'366'000)),
       {HealingCause::Code::kPodTerminating, "learner/4096 waits until pod a has ended"}},
      {"request-7", false, false, "Unschedulable", "collector: does not fit", SysTime{}, {}}};
  group.status.gangs[0].direct_through = 3;
  group.status.gangs[2].cause = NeverFits{{"collector", 3, 1}, {"cpu", 1500}, 2};
  group.status.gangs[2].refusals = {2,
                                    SysTime(std::chrono::milliseconds(1'795'269'366'000)),
                                    "kube-scheduler refused it",
                                    {"data=missing"}};
  group.status.avoid = {
      {"learner", "n3", 1, 4, SysTime(std::chrono::milliseconds(1'795'269'367'000))}};
  group.spec.avoid = {
      {"coordinator", "n4", 0, 2, SysTime(std::chrono::milliseconds(1'795'269'367'500))}};
  group.status.enlarged = {
      {"learner", testing::ask(8, 5), 3, SysTime(std::chrono::milliseconds(1'795'269'368'000)), 2}};
  group.spec.highest_placement = 8;
  group.spec.queue = "vision";
  group.status.gangs[0].started_at = SysTime(std::chrono::milliseconds(1'795'269'365'250));
  group.status.gangs[0].victims = {{"uid-1", "request-3", 17, true, ""},
                                   {"uid-2", "base", 4, false, "dqn-2"},
                                   {"uid-3", "base", 5, false, "", true}};
  group.status.gangs[0].planned_run_seconds = 3'630;
  group.status.gangs[2].reservation =
      Reservation{{{"collector", "n4", 2}, {"learner", "n4", 1}},
                  SysTime(std::chrono::milliseconds(1'795'269'370'000)),
                  SysTime(std::chrono::milliseconds(1'795'269'371'000)),
                  {"uid-4", "uid-5"},
                  SysTime(std::chrono::milliseconds(1'795'269'373'000))};
  group.status.gangs[2].reserve_after = SysTime(std::chrono::milliseconds(1'795'269'372'000));
  group.spec.user = "ada";
  group.spec.gangs.back().queued_since = SysTime(std::chrono::seconds(1'700'000'000));
  group.spec.gangs.front().preempt_after = SysTime(std::chrono::seconds(1'700'000'100));
  group.spec.gangs.front().start_check = {StartCheck::State::kBlocked,
                                          {"ServiceAccount", "trainer", "it does not exist"}};
  group.spec.never_preempts = true;
  group.spec.gangs[0].members[0].resource_claims = {"ResourceClaim/gpus"};
  group.status.gangs[2].refusals.cause = "ResourceClaimTemplate/gpus";
  group.status.queue = {"vision", 20, 3'600, {"research", "company"}};
  group.spec.gangs[0].members[0].admitted = {2, testing::ask(8, 4)};
  const auto pods = kube::make_pod_selector("team-a", R"([{"key":"app","operator":"Exists"}])");
  group.spec.gangs[0].members[0].shape.spread = {{"zone", 2, 3, false, false, true, pods}};
  group.spec.gangs[0].members[0].shape.requests.set(pods.counter, 1);
  return group;
}

Json as_json(const PodGroup& group) {
  return Json{{"apiVersion", kApiVersion},
              {"kind", kKind},
              {"metadata",
               {{"namespace", group.meta.ns},
                {"name", group.meta.name},
                {"uid", group.meta.uid},
                {"resourceVersion", group.meta.resource_version},
                {"generation", group.meta.generation}}},
              {"spec", encode_spec(group.spec)},
              {"status", encode_status(group.status)}};
}

TEST_CASE("a PodGroup is the same after encoding and decoding", "[gang][pod_group]") {
  const PodGroup group = a_pod_group();
  auto text = kube::parse_json(kube::to_text(as_json(group)));  // as the API server sends it
  REQUIRE(text.has_value());
  const auto decoded = decode_pod_group(*text);
  REQUIRE(decoded.has_value());
  CHECK(*decoded == group);
}

TEST_CASE("a start check keeps its state, and an unknown state is none", "[gang][pod_group]") {
  using State = StartCheck::State;
  for (const State state : {State::kNone, State::kPending, State::kPassed}) {
    PodGroup group = a_pod_group();
    group.spec.gangs.front().start_check = {state, {}};
    const auto decoded = decode_pod_group(as_json(group));
    REQUIRE(decoded.has_value());
    CHECK(*decoded == group);
  }
  Json later = as_json(a_pod_group());
  later["spec"]["gangs"][0]["startCheck"] = {{"state", "Later"}};
  const auto decoded = decode_pod_group(later);
  REQUIRE(decoded.has_value());
  CHECK(decoded->spec.gangs.front().start_check == StartCheck{});
}

TEST_CASE("a status says what helps a gang that waits", "[gang][pod_group]") {
  const Json waiting = encode_status(a_pod_group().status)["gangs"][2];
  CHECK(waiting["cause"]["code"] == "NeverFits");
  CHECK(waiting["remedy"] == Json{{"code", "AskForLess"}});
}

TEST_CASE("a PodGroup without a status decodes to an empty status", "[gang][pod_group]") {
  Json object = as_json(a_pod_group());
  object.erase("status");
  const auto decoded = decode_pod_group(object);
  REQUIRE(decoded.has_value());
  CHECK(decoded->status == PodGroupStatus{});
  CHECK(decoded->status.next_placement == 1);
}

TEST_CASE("a gang's kind and numbers are fields of its own", "[gang][pod_group]") {
  const Json gangs = encode_spec(a_pod_group().spec)["gangs"];
  const auto has = [&](int n, const Json& fields) {
    for (const auto& [key, value] : fields.items()) {
      if (gangs[static_cast<std::size_t>(n)].value(key, Json()) != value) return false;
    }
    return true;
  };
  CHECK(has(0, {{"name", "base"}, {"kind", "Base"}, {"requestId", nullptr}}));
  CHECK(has(1, {{"name", "request-7"}, {"kind", "Request"}, {"requestId", 7}}));
  CHECK(has(2, {{"name", "base-collector-2"}, {"kind", "AddedReplicas"}, {"firstOrdinal", 2}}));
}

TEST_CASE("of gangs with one name the first counts", "[gang][pod_group]") {
  Json object = as_json(a_pod_group());
  object["spec"]["gangs"].push_back(object["spec"]["gangs"][1]);
  const auto decoded = decode_pod_group(object);
  REQUIRE(decoded);
  CHECK(decoded->spec == a_pod_group().spec);
}

TEST_CASE("only the base gang reserves capacity", "[gang][pod_group]") {
  Json object = as_json(a_pod_group());
  object["/spec/gangs/1/members/0/reserved"_json_pointer] = 3;
  const auto decoded = decode_pod_group(object);
  REQUIRE(decoded.has_value());
  CHECK(*decoded == a_pod_group());
}

TEST_CASE("sets are walked gang by gang", "[gang][pod_group]") {
  PodGroup group = a_pod_group();
  group.spec.gangs.insert(group.spec.gangs.begin() + 1,
                          Gang{"empty", GangKind::kRequest, 1, 0, {}});
  std::vector<std::string> names;
  for (const MemberSet& set : all_sets(group.spec.gangs)) names.push_back(set.name);
  CHECK(names == std::vector<std::string>{"coordinator", "learner", "request-7-ddp-learner",
                                          "base-collector-2"});
  const std::vector<Gang> none;
  CHECK(all_sets(none).begin() == all_sets(none).end());
}

TEST_CASE("an invalid PodGroup is rejected with the field's name", "[gang][pod_group]") {
  struct Row {
    std::string when;
    std::string pointer;
    Json value;
    std::string names;
  };
  const auto row = GENERATE(values<Row>({
      {"a gang has no name", "/spec/gangs/1/name", "", "spec.gangs[1].name"},
      {"a gang is of an unknown kind", "/spec/gangs/1/kind", "Growth", "spec.gangs[1].kind"},
      {"a second gang is the base gang", "/spec/gangs/1/kind", "Base", "spec.gangs[1].name"},
      {"a gang has no sets", "/spec/gangs/1/members", Json::array(), "spec.gangs[1].members"},
      {"a request's id is negative", "/spec/gangs/1/requestId", -1, "spec.gangs[1].requestId"},
      {"added replicas begin below 0", "/spec/gangs/2/firstOrdinal", -1,
       "spec.gangs[2].firstOrdinal"},
      {"a part is negative", "/spec/gangs/1/members/0/part", -1, "spec.gangs[1].members[0].part"},
      {"a set has no name", "/spec/gangs/0/members/0/name", "", "spec.gangs[0].members[0].name"},
      {"a role is a number", "/spec/gangs/0/members/1/role", 3, "spec.gangs[0].members[1].role"},
      {"an ordinal is text", "/spec/gangs/0/members/1/slots/0/ordinal", "1",
       "spec.gangs[0].members[1].slots[0].ordinal"},
      {"an ordinal is negative", "/spec/gangs/0/members/1/slots/0/ordinal", -1,
       "spec.gangs[0].members[1].slots[0].ordinal"},
      {"an ordinal is beyond int", "/spec/gangs/0/members/1/slots/0/ordinal", 4'294'967'296,
       "spec.gangs[0].members[1].slots[0].ordinal"},
      {"a count is zero", "/spec/gangs/0/members/1/slots/0/count", 0,
       "spec.gangs[0].members[1].slots[0].count"},
      {"a short text names millions of slots", "/spec/gangs/0/members/1/slots/0/count", 2'000'000,
       "spec.gangs[0].members[1].slots[0].count"},
      {"a count goes beyond int", "/spec/gangs/0/members/1/slots/0/ordinal", 2'147'483'647,
       "spec.gangs[0].members[1].slots[0].count"},
      {"a slot is wanted twice", "/spec/gangs/0/members/1/slots/1", Json{{"ordinal", 1}},
       "learner/1 is wanted twice"},
      {"a slot is null", "/spec/gangs/0/members/1/slots/0", nullptr,
       "spec.gangs[0].members[1].slots[0]"},
      {"all sets together name too many slots", "/spec/gangs/0/members/1/slots",
       Json::array({{{"ordinal", 0}, {"count", 40'000}}, {{"ordinal", 40'000}, {"count", 40'000}}}),
       "spec.gangs[0].members[1].slots[1]: a PodGroup has at most 65536 slots"},
      {"requests are no quantities", "/spec/gangs/0/members/0/requests/cpu", "many",
       "spec.gangs[0].members[0].requests"},
      {"the queue time is no time", "/spec/queuedSince", "yesterday", "spec.queuedSince"},
      {"a placement has no node", "/status/gangs/0/placements/0/nodes/0/node", "",
       "status.gangs[0].placements[0].nodes[0].node"},
      {"a placement's number is negative", "/status/gangs/0/placements/1/nodes/0/number", -4,
       "status.gangs[0].placements[1].nodes[0].number"},
      {"placements are direct through no number", "/status/gangs/0/directThrough", "all",
       "status.gangs[0].directThrough"},
      {"a placement has no ordinal", "/status/gangs/0/placements/0/nodes/0", Json::object(),
       "status.gangs[0].placements[0].nodes[0].ordinal"},
      {"reserved pods are negative", "/spec/gangs/0/members/1/reserved", -1,
       "spec.gangs[0].members[1].reserved"},
      {"reserved pods are taken over from no set", "/spec/gangs/1/members/0/fromReserved/set", "",
       "spec.gangs[1].members[0].fromReserved.set"},
      {"what is taken over is a number", "/spec/gangs/1/members/0/fromReserved", 3,
       "spec.gangs[1].members[0].fromReserved"},
      {"reserved capacity has no node", "/status/gangs/0/reserved/0/nodes/0/node", "",
       "status.gangs[0].reserved[0].nodes[0].node"},
      {"reserved capacity is of no set", "/status/gangs/0/reserved/1/set", "",
       "status.gangs[0].reserved[1].set"},
      {"reserved capacity is for no pod", "/status/gangs/0/reserved/0/nodes/1/count", 0,
       "status.gangs[0].reserved[0].nodes[1].count"},
      {"the object has no name", "/metadata/name", "", "metadata.name"},
  }));
  INFO("when " << row.when);
  Json object = as_json(a_pod_group());
  object[Json::json_pointer(row.pointer)] = row.value;
  const auto decoded = decode_pod_group(object);
  REQUIRE_FALSE(decoded.has_value());
  CHECK(decoded.error().code == Code::kInvalid);
  INFO(decoded.error().message);
  CHECK(decoded.error().message.find(row.names) != std::string::npos);
}

TEST_CASE("neighbouring slots and placements are written as one entry", "[gang][pod_group]") {
  PodGroup group = a_pod_group();
  group.spec.gangs[0].members[1].slots = {{0, 0}, {1, 0}, {2, 1}, {3, 0}};
  group.status.gangs[0].placements = {{"learner", {0, 0}, "n2", 2},
                                      {"learner", {1, 0}, "n2", 3},
                                      {"learner", {2, 1}, "n2", 9},
                                      {"learner", {3, 0}, "n1", 4},
                                      {"learner", {4, 0}, "n2", 5}};
  const Json object = as_json(group);
  CHECK(object["spec"]["gangs"][0]["members"][1]["slots"] ==
        Json::array({{{"ordinal", 0}, {"count", 2}},
                     {{"ordinal", 2}, {"incarnation", 1}},
                     {{"ordinal", 3}}}));
  CHECK(object["status"]["gangs"][0]["placements"] ==
        Json::array(
            {{{"role", "learner"},
              {"nodes",
               Json::array({{{"node", "n1"}, {"ordinal", 3}, {"number", 4}},
                            {{"node", "n2"}, {"ordinal", 0}, {"count", 2}, {"number", 2}},
                            {{"node", "n2"}, {"ordinal", 2}, {"incarnation", 1}, {"number", 9}},
                            {{"node", "n2"}, {"ordinal", 4}, {"number", 5}}})}}}));
}

TEST_CASE("placements are direct up to the number that their gang's status has",
          "[gang][pod_group]") {
  PodGroup group = a_pod_group();
  const GangStatus& base = group.status.gangs[0];
  for (const Placement& placement : base.placements) CHECK(is_direct(base, placement));
  CHECK_FALSE(is_direct(base, {"learner", {1, 0}, "n4", 4}));  // moved
  const GangStatus& other = group.status.gangs[1];
  for (const Placement& placement : other.placements) CHECK_FALSE(is_direct(other, placement));
}

TEST_CASE("placements are found by role, ordinal and incarnation", "[gang][pod_group]") {
  const PodGroup group = a_pod_group();
  const Placement* placement = find_placement(group.status, "learner", {1, 0});
  REQUIRE(placement != nullptr);
  CHECK(placement->number == 3);
  CHECK(find_placement(group.status, "learner", {1, 1}) == nullptr);
  CHECK(find_placement(group.status, "collector", {1, 0}) == nullptr);
  REQUIRE(find_gang_with_slot(group.status, "learner", {1, 0}) != nullptr);
  CHECK(find_gang_with_slot(group.status, "learner", {1, 0})->name == "base");
  CHECK(find_gang(group.status, "request-7") == &group.status.gangs[2]);
  CHECK(find_gang(group.status, "request-8") == nullptr);
}

}  // namespace
}  // namespace nervex::gang
