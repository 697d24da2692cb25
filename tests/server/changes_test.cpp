#include "server/changes.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <atomic>
#include <functional>
#include <thread>

#include "kube/model/watch.h"
#include "tests/server/world.h"

namespace nervex::server {
namespace {

using namespace std::chrono_literals;
using job::Role;
using testing::Applied;

AddRequest more(int collectors, int learners = 0) {
  AddRequest request{"rl", "dqn-coordinator", {}, {}};
  request.collectors.replicas = collectors;
  request.learners.replicas = learners;
  return request;
}

RemoveRequest less(int collectors) { return {"rl", "dqn-coordinator", collectors, 0}; }
ReplaceRequest failed(std::vector<std::string> collectors) {
  return {"rl", "dqn-coordinator", std::move(collectors), {}};
}

// As long as a real hash, and different for each body.
std::string fake_hash(const std::string& body) { return body + std::string(64 - body.size(), '0'); }

CallId id(const std::string& body, const std::string& key = "") {
  return {"POST", fake_hash(body), key, "10.0.0.7"};
}

std::vector<std::string> urls(const Result<Listing>& named) {
  INFO((named ? "" : named.error().message));
  REQUIRE(named);
  return named->collectors;
}

// A second server on the same API server, with separate caches.
struct Second {
  explicit Second(World& world) : replicas(world.api, stores, world.clock, {"second", Limits{}}) {
    world.fill(stores);
  }
  Stores stores;
  Replicas replicas;
};

// A client that changes the job just before every write of a server.
class BusyApi final : public kube::Api {
 public:
  BusyApi(testing::FakeApi& api, std::function<Json(int write)> change)
      : api_(api), change_(std::move(change)) {}

  Result<std::string> send(const kube::ApiRequest& request) override {
    if (request.method == "PATCH") api_.change(kube::kNervexJobs, "rl", "dqn", change_(++writes_));
    return api_.send(request);
  }
  Result<Nothing> stream(const std::string& path,
                         const std::function<bool(std::string_view line)>& on_line,
                         std::stop_token stop) override {
    return api_.stream(path, on_line, stop);
  }

 private:
  testing::FakeApi& api_;
  const std::function<Json(int write)> change_;
  int writes_ = 0;
};

// The call as the route makes it: its reply is written, or is not.
Result<Listing> add(Replicas& replicas, const AddRequest& request, const CallId& call,
                    bool written) {
  PendingReply pending_reply;
  auto named = replicas.add(request, {call, &pending_reply});
  if (named) replicas.changes().reply_done(pending_reply, written);
  return named;
}

std::size_t wanted(const World& world) {
  return job::wanted_replicas(world.job(), Role::kCollector).size();
}

}  // namespace

TEST_CASE("a removal and a replacement are one conditional write each", "[server][changes]") {
  World world;
  const auto added = urls(world.replicas.add(more(3)));
  const auto removed = urls(world.replicas.remove(less(1)));
  CHECK(removed == std::vector{added[2]});
  const auto replaced = urls(world.replicas.replace(failed({added[0], added[0]})));
  REQUIRE(replaced.size() == 1);
  CHECK(replaced[0] != added[0]);
  CHECK(world.api.writes().size() == 3);
  for (const auto& write : world.api.writes()) {
    CHECK(write.body[0]["path"] == "/metadata/uid");
    CHECK(write.body[1]["path"] == "/metadata/resourceVersion");
    for (const auto& operation : write.body) {
      if (operation["op"] == "test") continue;
      CHECK(operation["path"].get<std::string>().starts_with("/spec/requests"));
    }
  }
  CHECK(wanted(world) == 2);
}

TEST_CASE("a write sends only what differs, so that what others keep beside it stays",
          "[server][changes]") {
  World world;
  const Json next = {{"collector", 4096}, {"later", 1}};
  const bool has_next = GENERATE(true, false);
  world.change_job({{"spec", {{"requests", {{"later", "version"}}}}}});
  if (has_next) world.change_job({{"spec", {{"requests", {{"next", next}}}}}});
  world.sync();
  REQUIRE(world.replicas.add(more(1)));
  CHECK(world.requests_now()["next"].value("later", 0) == (has_next ? 1 : 0));
  CHECK(world.requests_now()["next"]["collector"] == 4097);
  REQUIRE(world.replicas.remove(less(1)));
  CHECK(world.requests_now()["later"] == "version");
  const Json second = world.api.writes()[1].body;
  for (const auto& operation : second) {
    CHECK(operation["path"] != "/spec/requests");
    CHECK(operation["path"] != "/spec/requests/next");
    CHECK(operation["path"] != "/spec/requests/base");
  }
}

TEST_CASE("\"nothing to do\" is confirmed by a live read", "[server][changes]") {
  World world;
  Second second(world);
  const auto added = urls(world.replicas.add(more(2)));
  // The other server's cache has none of these changes.
  CHECK(urls(second.replicas.remove(less(1))) == std::vector{added[1]});

  const auto replaced = urls(world.replicas.replace(failed({added[0]})));
  const auto again = urls(world.replicas.replace(failed(replaced)));
  CHECK(urls(second.replicas.replace(failed({added[0]}))) == again);
}

TEST_CASE("a request for a waiting job is told that it waits", "[server][changes]") {
  World world;
  world.change_job({{"status", {{"phase", "Created"}, {"reason", "Unschedulable"}}}});
  world.api.remove(kube::kPods, "rl", "dqn-coordinator");
  world.sync();
  const auto added = world.replicas.add(more(1));
  REQUIRE_FALSE(added);
  CHECK(added.error().code == Code::kNotFound);
  CHECK(added.error().message.find("pod rl/dqn-coordinator: the pod does not exist: nervexjob "
                                   "dqn has no coordinator (Unschedulable)") == 0);
}

TEST_CASE("a pod missing from the cache is read live", "[server][changes]") {
  World world;
  // spec.requests was lost, and the cache does not know the pod yet.
  const std::string pod = world.add_pod(Role::kCollector, {4096, 2});
  CHECK(urls(world.replicas.replace(failed({pod}))).empty());  // it is no longer a replica
  const auto unknown =
      world.replicas.replace(failed({job::pod_name(world.job(), Role::kCollector, {4097, 0})}));
  REQUIRE_FALSE(unknown);
  CHECK(unknown.error().code == Code::kNotFound);

  world.api.fail_next("GET", "/pods/" + pod, {Code::kTransient, "timeout"});
  const auto unsure = world.replicas.replace(failed({pod}));
  REQUIRE_FALSE(unsure);
  CHECK(unsure.error().code == Code::kTransient);
}

TEST_CASE("any call resolves a lost reply of the API server", "[server][changes]") {
  World world;
  const auto added = urls(world.replicas.add(more(2)));
  const auto lose = [&] {
    world.api.fail_next("PATCH", "/nervexjobs/", {Code::kTransient, "timeout"}, Applied::kYes);
  };
  lose();
  CHECK(urls(world.replicas.remove(less(1))) == std::vector{added[1]});
  CHECK(wanted(world) == 1);
  world.sync();
  lose();
  const auto replaced = urls(world.replicas.replace(failed({added[0]})));
  CHECK(world.api.writes().size() == 3);
  world.sync();
  CHECK(urls(world.replicas.replace(failed({added[0]}))) == replaced);
}

TEST_CASE("a job that becomes too large to store is refused permanently, with a reason",
          "[server][changes]") {
  World world;
  world.api.fail_next("PATCH", "/nervexjobs/",
                      kube::status_error("PATCH job", 500, "etcdserver: request is too large"));
  const auto added = world.replicas.add(more(1));
  REQUIRE_FALSE(added);
  CHECK(added.error().code == Code::kConflict);  // 409: asking again would not help
  CHECK(added.error().message ==
        "the API server refuses to change nervexjob rl/dqn: PATCH job: 500 etcdserver: request is "
        "too large");
  CHECK(world.api.writes().size() == 1);
}

TEST_CASE("any call gives exhausted replicas new names, in its one write", "[server][changes]") {
  World world;
  const auto added = urls(world.replicas.add(more(2)));
  world.change_job(
      {{"status",
        {{"replaced", {{{"role", "collector"}, {"ordinal", 4096}, {"incarnation", 218}}}}}}});
  world.sync();
  CHECK(wanted(world) == 1);
  world.api.clear_writes();
  SECTION("which names them as failed") {
    CHECK(urls(world.replicas.replace(failed({added[0]}))) ==
          std::vector{job::pod_name(world.job(), Role::kCollector, {4098, 0}) + ".rl:22270"});
  }
  SECTION("which asks for more") { REQUIRE(world.replicas.add(more(1))); }
  SECTION("which finds nothing to remove") { REQUIRE(world.replicas.remove(less(0))); }
  CHECK(world.api.writes().size() == 1);
  CHECK(wanted(world) >= 2);
  CHECK(world.job().spec.requests.moved ==
        std::vector<job::MovedReplica>{{1, Role::kCollector, 4096, 4098}});
}

// Each call except the first reads what the previous one has stored.
TEST_CASE("an exhausted base replica continues under a new ordinal, and the job is read again",
          "[server][changes]") {
  World world;
  world.change_job(
      {{"spec", {{"collector", {{"replicas", 1}}}}},
       {"status",
        {{"replaced", {{{"role", "collector"}, {"ordinal", 0}, {"incarnation", 218}}}}}}});
  world.sync();
  REQUIRE(wanted(world) == 0);
  REQUIRE(world.replicas.add(more(1)));
  world.sync();
  CHECK(wanted(world) == 2);
  REQUIRE(world.replicas.add(more(1)));
  CHECK(wanted(world) == 3);
}

TEST_CASE("a conflict is read again and decided again", "[server][changes]") {
  World world;
  Second second(world);
  const auto first = urls(world.replicas.add(more(2)));
  const auto other = urls(second.replicas.add(more(1)));  // on a cache that lacks the first
  CHECK(second.replicas.changes().conflicts() == 1);
  CHECK(world.replicas.changes().conflicts() == 0);
  // The newest is the second server's, unknown to the first.
  CHECK(urls(world.replicas.remove(less(1))) == other);
  CHECK(wanted(world) == 2);
}

// A starting job's status is written several times a second, for as long as pods start.
TEST_CASE("a constantly changing status does not block requests", "[server][changes]") {
  World world;
  BusyApi busy(world.api, [](int write) -> Json {
    return {{"status", {{"replicaStatuses", {{"Collector", {{"active", write}}}}}}}};
  });
  Replicas replicas(busy, world.stores, world.clock);
  CHECK(urls(replicas.add(more(2))).size() == 2);
  CHECK(replicas.changes().conflicts() == 1);  // the cache may be older than it looks
  CHECK(urls(replicas.remove(less(1))).size() == 1);
  CHECK(wanted(world) == 1);
}

TEST_CASE("a request is decided again if its job changes before the write", "[server][changes]") {
  World world;
  SECTION("an attempt that ends: the replicas are not for the next one") {
    BusyApi busy(world.api, [](int write) -> Json {
      return {{"status", {{"counted", write}, {"attempt", write}}}};
    });
    Replicas replicas(busy, world.stores, world.clock);
    CHECK(replicas.add(more(2)).error().code == Code::kTransient);
    CHECK(wanted(world) == 0);
  }
  SECTION("a job that ends: it gets no more replicas") {
    BusyApi busy(world.api, [](int write) -> Json {
      return {{"status", {{"counted", write}, {"phase", write == 1 ? "Running" : "Succeeded"}}}};
    });
    Replicas replicas(busy, world.stores, world.clock);
    CHECK(replicas.add(more(2)).error().code == Code::kConflict);
    CHECK(wanted(world) == 0);
  }
  SECTION("another server's replicas: they stay") {
    Second second(world);
    BusyApi busy(world.api, [&](int write) -> Json {
      if (write <= 3) urls(second.replicas.add(more(1)));
      return Json::object();
    });
    Replicas replicas(busy, world.stores, world.clock);
    CHECK(urls(replicas.add(more(2))).size() == 2);
    CHECK(replicas.changes().conflicts() == 3);
    CHECK(wanted(world) == 5);
  }
  SECTION("the job that is deleted and created again: it gets nothing") {
    BusyApi busy(world.api, [&](int) -> Json {
      Json again = world.job_now();
      world.api.remove(kube::kNervexJobs, "rl", "dqn");
      world.api.add(kube::kNervexJobs, "rl", std::move(again));
      return Json::object();
    });
    Replicas replicas(busy, world.stores, world.clock);
    CHECK_FALSE(replicas.add(more(2)));
    CHECK(wanted(world) == 0);
  }
}

// ---- repeats

TEST_CASE("without a key the same call is a repeat only if its reply may be lost",
          "[server][changes][repeats]") {
  struct Row {
    std::string when;
    bool first_written;
    bool elsewhere;  // the second call reaches the other server
    std::chrono::milliseconds later;
    std::size_t want;  // replicas wanted in the end
  };
  const auto row = GENERATE(values<Row>({
      {"its caller has the reply", true, false, 0s, 2},
      {"the reply could not be written", false, false, 0s, 1},
      {"the other server cannot know", true, true, 0s, 1},
      {"the server that wrote it has ended", false, true, 29s, 1},
      {"too much time has passed", false, false, 30s, 2},
  }));
  INFO("when " << row.when);
  World world;
  Second second(world);
  const auto first = urls(add(world.replicas, more(1), id("one"), row.first_written));
  world.clock.advance(row.later);
  Replicas& next = row.elsewhere ? second.replicas : world.replicas;
  const auto again = urls(add(next, more(1), id("one"), true));
  CHECK(wanted(world) == row.want);
  CHECK((again == first) == (row.want == 1));
  CHECK(next.changes().repeats() == (row.want == 1 ? 1 : 0));

  // Answered once more, the reply is known to be written: an equal call is a new one.
  REQUIRE(add(next, more(1), id("one"), true));
  CHECK(wanted(world) == row.want + 1);
}

TEST_CASE("the age of a call counts from its write, not from its first try",
          "[server][changes][repeats]") {
  World world;
  const auto after_long = [&](const kube::ApiRequest& request) {
    if (request.method != "PATCH") return false;
    world.clock.advance(40s);
    return true;
  };
  world.api.fail_next(after_long, {Code::kConflict, "changed by others"});
  const auto first = urls(add(world.replicas, more(1), id("one"), false));
  world.clock.advance(29s);
  CHECK(urls(add(world.replicas, more(1), id("one"), true)) == first);
  CHECK(wanted(world) == 1);
}

TEST_CASE("other calls are no repeats", "[server][changes][repeats]") {
  World world;
  CallId call = id("one");
  REQUIRE(add(world.replicas, more(1), call, false));
  CallId other = call;
  other.source = "10.0.0.8";
  REQUIRE(add(world.replicas, more(1), other, true));
  other = call;
  other.body_hash = fake_hash("two");
  REQUIRE(add(world.replicas, more(1), other, true));
  CHECK(wanted(world) == 3);
}

TEST_CASE("an idempotency key makes any number of calls one, on any server",
          "[server][changes][repeats]") {
  World world;
  Second second(world);
  const auto first = urls(add(world.replicas, more(2), id("one", "k"), true));
  world.clock.advance(5min);
  CHECK(urls(add(world.replicas, more(2), id("one", "k"), true)) == first);
  CHECK(urls(add(second.replicas, more(2), id("one", "k"), true)) == first);
  CHECK(wanted(world) == 2);

  const auto misused = add(second.replicas, more(3), id("two", "k"), true);
  REQUIRE_FALSE(misused);
  CHECK(misused.error().code == Code::kConflict);
  CHECK(urls(add(second.replicas, more(2), id("one", "k2"), true)) != first);
}

TEST_CASE("a keyed call that found nothing to do does nothing later either",
          "[server][changes][repeats]") {
  World world;
  CallId call = id("remove", "k");
  call.method = "DELETE";
  CHECK(urls(world.replicas.remove(less(1), {call})).empty());
  REQUIRE(world.replicas.add(more(1)));
  CHECK(urls(world.replicas.remove(less(1), {call})).empty());
  CHECK(wanted(world) == 1);
}

TEST_CASE("a removal is not done twice for a lost reply", "[server][changes][repeats]") {
  World world;
  REQUIRE(world.replicas.add(more(3)));
  CallId call = id("remove");
  call.method = "DELETE";
  PendingReply lost;
  const auto removed = urls(world.replicas.remove(less(1), {call, &lost}));
  world.replicas.changes().reply_done(lost, false);
  CHECK(urls(world.replicas.remove(less(1), {call})) == removed);
  CHECK(wanted(world) == 2);
}

TEST_CASE("a write of unknown outcome is found whenever its caller repeats the call",
          "[server][changes][repeats]") {
  World world;
  world.api.fail_next("PATCH", "/nervexjobs/", {Code::kTransient, "timeout"}, Applied::kYes);
  world.api.fail_next("GET", "/nervexjobs/", {Code::kTransient, "connection refused"});
  const auto unsure = add(world.replicas, more(1), id("one"), true);
  REQUIRE_FALSE(unsure);
  CHECK(unsure.error().code == Code::kTransient);  // the one answer that clients repeat
  world.clock.advance(2min);                       // the API server was away
  CHECK(urls(add(world.replicas, more(1), id("one"), true)).size() == 1);
  CHECK(wanted(world) == 1);
}

TEST_CASE("a repeat is answered though the job is at its limit", "[server][changes][repeats]") {
  World world;
  world.change_job({{"spec", {{"collector", {{"maxReplicas", 1}}}}}});
  world.sync();
  const auto first = urls(add(world.replicas, more(1), id("one"), false));
  CHECK(urls(add(world.replicas, more(1), id("one"), true)) == first);
  CHECK_FALSE(add(world.replicas, more(1), id("one"), true));
}

TEST_CASE("an equal call waits until the first one's reply is written or lost",
          "[server][changes][repeats]") {
  const bool written = GENERATE(true, false);
  INFO("written: " << written);
  World world;
  PendingReply first;
  const auto named = world.replicas.add(more(1), {id("one"), &first});
  REQUIRE(named);
  std::atomic<bool> settled = false;
  bool was_settled = false;
  Result<Listing> again = Error{};
  {
    std::jthread waiting([&] {
      again = add(world.replicas, more(1), id("one"), true);
      was_settled = settled;
    });
    settled = true;
    world.replicas.changes().reply_done(first, written);
  }
  CHECK(was_settled);
  CHECK((urls(again) == named->collectors) == !written);
}

TEST_CASE("calls of an earlier attempt are not repeats in this one", "[server][changes][repeats]") {
  World world;
  const auto first = urls(add(world.replicas, more(1), id("one", "k"), true));
  world.api.remove(kube::kPods, "rl", "dqn-coordinator");
  world.group_uid =
      kube::string_at(world.api.add(kube::kPodGroups, "rl",
                                    {{"apiVersion", gang::kApiVersion},
                                     {"kind", gang::kKind},
                                     {"metadata", {{"name", "dqn-2"}}},
                                     {"spec", {{"attempt", 2}, {"gangs", Json::array()}}}}),
                      {"metadata", "uid"});
  world.change_job({{"status", {{"attempt", 2}}}});
  world.add_pod(Role::kCoordinator, {});
  world.sync();
  const auto again = urls(add(world.replicas, more(1), id("one", "k"), true));
  CHECK(again.size() == 1);
  CHECK(again != first);
}

TEST_CASE("a call that waits too long for others of its job is told to retry",
          "[server][changes]") {
  World world;
  Replicas replicas(world.api, world.stores, world.clock,
                    {.lock_timeout = std::chrono::seconds(0)});
  PendingReply pending;
  Call first;
  first.pending_reply = &pending;
  REQUIRE(replicas.add(more(1), first));
  std::vector<bool> waiting;
  Call second;
  second.set_waiting = [&](bool waits) { waiting.push_back(waits); };
  const auto refused = replicas.add(more(1), second);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Code::kTransient);
  CHECK(waiting == std::vector<bool>{true, false});
  replicas.changes().reply_done(pending, true);
  CHECK(replicas.add(more(1), second));
  CHECK(wanted(world) == 2);
}

TEST_CASE("a call whose caller has left waits for no other", "[server][changes]") {
  World world;
  Replicas replicas(world.api, world.stores, world.clock, {.lock_timeout = std::chrono::hours(1)});
  PendingReply pending;
  Call first;
  first.pending_reply = &pending;
  REQUIRE(replicas.add(more(1), first));
  Call second;
  second.gives_up = [] { return true; };
  CHECK(replicas.add(more(1), second).error().code == Code::kTransient);
  CHECK(wanted(world) == 1);
}

}  // namespace nervex::server
