#include "gang/no_fit.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

namespace nervex::gang {
namespace {

InsufficientCapacity lacking(NodeCounts nodes = {}) {
  return {{"learner", 4, 2, 0, {}, nodes}, {"nvidia.com/gpu", 8}};
}

TEST_CASE("a cause survives its JSON, amounts as quantities", "[gang][no_fit]") {
  struct Row {
    NoFit cause;
    Json json;
  };
  InsufficientCapacity all = lacking({1, 2, 3, 4, 5, 6, 7, 8, 9});
  all.set.reserved = 1;
  all.set.domain = {"zone", DomainLimit::Reason::kTopology, {{"a", 3}, {"b", 2}}, 2};
  all.need.enlarged = true;
  all.search_gave_up = true;
  all.preemption = PreemptionOutcome::kRateLimited;
  all.reservation = ReservationOutcome::kOfOthers;
  const auto row = GENERATE_COPY(values<Row>({
      {all,
       {{"code", "InsufficientCapacity"},
        {"role", "learner"},
        {"wanted", 4},
        {"unplaced", 2},
        {"reserved", 1},
        {"domain", "zone"},
        {"domainReason", "Topology"},
        {"domainCapacity", {{{"value", "a"}, {"pods", 3}}, {{"value", "b"}, {"pods", 2}}}},
        {"domainsNeeded", 2},
        {"nodes",
         {{"free", 1},
          {"full", 2},
          {"tooSmall", 3},
          {"tainted", 4},
          {"notSelected", 5},
          {"volumeElsewhere", 6},
          {"notReady", 7},
          {"cordoned", 8},
          {"avoided", 9}}},
        {"resource", "nvidia.com/gpu"},
        {"each", "8"},
        {"enlarged", true},
        {"searchGaveUp", true},
        {"preemption", "RateLimited"},
        {"reservation", "OfOthers"}}},
      {NoNodeAllowed{{"learner", 1, 1}},
       {{"code", "NoNodeAllowed"}, {"role", "learner"}, {"wanted", 1}, {"unplaced", 1}}},
      {NeverFits{{"learner", 2, 1}, {"cpu", 1500}, 1, 500},
       {{"code", "NeverFits"},
        {"role", "learner"},
        {"wanted", 2},
        {"unplaced", 1},
        {"resource", "cpu"},
        {"each", "1500m"},
        {"most", 1},
        {"largestNode", "500m"}}},
      {NoNodeAllowed{{"learner", 4, 1, 0, {}, {}, SkewLimit{"zone", 2, 1, 3, ""}}},
       {{"code", "NoNodeAllowed"},
        {"role", "learner"},
        {"wanted", 4},
        {"unplaced", 1},
        {"skew", {{"topologyKey", "zone"}, {"maxSkew", 2}, {"domains", 1}, {"minDomains", 3}}}}},
      {NeverFitsTogether{{"learner", 2, 1}, {"hostPort:TCP/80", 1}},
       {{"code", "NeverFitsTogether"},
        {"role", "learner"},
        {"wanted", 2},
        {"unplaced", 1},
        {"resource", "hostPort:TCP/80"},
        {"each", "1"}}},
      {OverQuota{"team", "requests.memory", 1 << 30, 2 << 20, 1, 0, 3 << 10},
       {{"code", "OverQuota"},
        {"quota", "team"},
        {"resource", "requests.memory"},
        {"over", "1Gi"},
        {"hard", "2Mi"},
        {"used", "1"},
        {"need", "3Ki"}}},
      {NotAdmitted{"QueueStopped", "vision", "", "queue vision is stopped"},
       {{"code", "QueueStopped"}, {"queue", "vision"}, {"message", "queue vision is stopped"}}},
      {NotAdmitted{"LimitExceeded", "vision", "cpu", "the limit is 1 cpu", true},
       {{"code", "LimitExceeded"},
        {"queue", "vision"},
        {"resource", "cpu"},
        {"message", "the limit is 1 cpu"},
        {"tooLarge", true}}},
  }));
  CHECK(encode_no_fit(row.cause) == row.json);
  CHECK(decode_no_fit(row.json) == row.cause);
}

TEST_CASE("a cause without a code is none, and a damaged field has its default", "[gang][no_fit]") {
  CHECK_FALSE(decode_no_fit({{"queue", "vision"}}).has_value());
  CHECK_FALSE(decode_no_fit("NeverFits").has_value());
  const Json damaged{{"code", "OverQuota"}, {"quota", 7}, {"hard", "much"}, {"used", "2"}};
  CHECK(decode_no_fit(damaged) == NoFit(OverQuota{"", "", 0, 0, 2}));
  CHECK(decode_no_fit({{"code", "NoNodeAllowed"}, {"wanted", -1}}) == NoFit(NoNodeAllowed{}));
}

TEST_CASE("what helps follows from the cause", "[gang][no_fit]") {
  struct Row {
    std::string when;
    NoFit cause;
    Remedy want;
  };
  const auto row = GENERATE(values<Row>({
      {"nodes are full", lacking({.full = 1}), Remedy::kWait},
      {"a tainted node is most often not meant for jobs", lacking({.full = 1, .tainted = 1}),
       Remedy::kWait},
      {"a node is not ready", lacking({.full = 1, .not_ready = 1}), Remedy::kOpenNodes},
      {"nodes are cordoned", lacking({.full = 1, .cordoned = 2}), Remedy::kOpenNodes},
      {"the only nodes are avoided for a while", lacking({.avoided = 1}), Remedy::kWait},
      {"no node that may be used is large enough", lacking({.too_small = 1, .tainted = 1}),
       Remedy::kAllowNodes},
      {"a large one is full", lacking({.full = 1, .too_small = 1}), Remedy::kWait},
      {"not even an empty cluster holds it", NeverFits{{"learner", 1, 1}, {"cpu", 1}},
       Remedy::kAskForLess},
      {"the sets do not fit together", NeverFitsTogether{{"learner", 1, 1}, {"cpu", 1}},
       Remedy::kAskForLess},
      {"no node may be used", NoNodeAllowed{{"learner", 1, 1}}, Remedy::kAllowNodes},
      {"others use the quota", OverQuota{"team", "pods", 1, 4, 3, 0, 2}, Remedy::kWait},
      {"the gang needs more than the quota", OverQuota{"team", "pods", 2, 3, 1, 0, 4},
       Remedy::kAskForLess},
      {"others use the queue's limit", NotAdmitted{"LimitExceeded", "vision", "cpu", "", false},
       Remedy::kWait},
      {"the gang needs more than the limit",
       NotAdmitted{"LimitExceeded", "vision", "cpu", "", true}, Remedy::kAskForLess},
      {"the queue is stopped", NotAdmitted{"QueueStopped", "vision", "", ""}, Remedy::kFixQueue},
  }));
  INFO("when " << row.when);
  CHECK(choose_remedy(row.cause) == row.want);
}

TEST_CASE("the cause is the same unless code, role, resource or the kind of barred nodes changes",
          "[gang][no_fit]") {
  struct Row {
    std::string when;
    NoFit changed;
    bool same;
  };
  const InsufficientCapacity before = lacking({.free = 2, .full = 3, .not_ready = 1});
  const auto with = [&](auto change) {
    InsufficientCapacity after = before;
    change(after);
    return after;
  };
  const auto row = GENERATE_COPY(values<Row>({
      {"only numbers changed", with([](auto& x) { x.set.unplaced = 1, x.set.nodes.free = 3; }),
       true},
      {"another role waits", with([](auto& x) { x.set.role = "collector"; }), false},
      {"another domain comes nearest", with([](auto& x) { x.set.domain = DomainLimit{"zone"}; }),
       false},
      {"another resource is short", with([](auto& x) { x.need.resource = "cpu"; }), false},
      {"it can never fit now", NeverFits{before.set, before.need}, false},
      {"the search gave up", with([](auto& x) { x.search_gave_up = true; }), true},
      {"no node is allowed any more", NoNodeAllowed{before.set}, false},
      {"the last free node was taken", with([](auto& x) { x.set.nodes.free = 0; }), true},
      {"one more node is not ready", with([](auto& x) { x.set.nodes.not_ready = 2; }), true},
      {"a first node is cordoned", with([](auto& x) { x.set.nodes.cordoned = 1; }), false},
      {"all nodes are ready again", with([](auto& x) { x.set.nodes.not_ready = 0; }), false},
      {"a first node was tainted", with([](auto& x) { x.set.nodes.tainted = 1; }), false},
      {"a first node is out of reach", with([](auto& x) { x.set.nodes.volume_elsewhere = 1; }),
       false},
      {"a first node is avoided", with([](auto& x) { x.set.nodes.avoided = 1; }), false},
      {"a first node lost its label", with([](auto& x) { x.set.nodes.not_selected = 1; }), false},
  }));
  INFO("when " << row.when);
  CHECK(same_cause(before, row.changed) == row.same);
}

TEST_CASE("a quota's use does not change the cause, another quota does", "[gang][no_fit]") {
  const OverQuota before{"team", "pods", 1, 4, 3, 0, 2};
  OverQuota after = before;
  after.used = 4;
  CHECK(same_cause(before, after));
  after.quota = "project";
  CHECK_FALSE(same_cause(before, after));
}

TEST_CASE("a sentence with other amounts does not change a rule's cause, another queue does",
          "[gang][no_fit]") {
  const NotAdmitted before{"LimitExceeded", "vision", "cpu", "3 are used"};
  NotAdmitted after = before;
  after.text = "4 are used";
  CHECK(same_cause(before, after));
  after.queue = "research";
  CHECK_FALSE(same_cause(before, after));
}

}  // namespace
}  // namespace nervex::gang
