#include "cli/replicas/call.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <functional>

#include "cli/replicas/port_forward.h"

namespace nervex::cli {
namespace {

using Verb = ReplicasVerb;

ReplicasAsk ask(Verb verb, const std::function<void(ReplicasAsk&)>& change) {
  ReplicasAsk asked;
  asked.verb = verb;
  asked.ns = "rl";
  asked.job = "dqn";
  change(asked);
  return asked;
}

constexpr const char* kPath = "/v1alpha1/replicas";

}  // namespace

TEST_CASE("arguments become one call of the replicas API", "[cli][replicas]") {
  struct Row {
    std::string when;
    ReplicasAsk ask;
    ReplicasCall want;
  };
  const std::string path = kPath;
  const auto row = GENERATE_COPY(values<Row>({
      {"all jobs", ReplicasAsk{}, {"GET", path, ""}},
      {"a job",
       ask(Verb::kGet, [](auto&) {}),
       {"GET", path + "?coordinator=dqn-coordinator&namespace=rl", ""}},
      {"an aggregator's GPUs",
       ask(Verb::kGet,
           [](auto& a) {
             a.job = "";
             a.aggregator = "a&b";
           }),
       {"GET", path + "?aggregator=a%26b&namespace=rl", ""}},
      {"more of both, with amounts",
       ask(Verb::kAdd,
           [](auto& a) {
             a.collectors = 2;
             a.learners = 1;
             a.cpus = "0.5";
             a.gpus = "10";
             a.memory = "1Gi";
           }),
       {"POST", path,
        R"({"collectors":{"cpus":"0.5","gpus":"10","memory":"1Gi","replicas":2},)"
        R"("coordinator":"dqn-coordinator",)"
        R"("learners":{"cpus":"0.5","gpus":"10","memory":"1Gi","replicas":1},"namespace":"rl"})"}},
      {"fewer, on behalf of another pod",
       ask(Verb::kRemove,
           [](auto& a) {
             a.job = "";
             a.coordinator = "p";
             a.learners = 3;
           }),
       {"DELETE", path, R"({"coordinator":"p","learners":{"replicas":3},"namespace":"rl"})"}},
      {"others, by name and by address",
       ask(Verb::kReplace,
           [](auto& a) {
             a.pods = {"dqn-collector-x2b7k", "dqn-learner-x2b7k.rl:80", "dqn-aggregator-x2b7k",
                       "dqn-ddp-learner-x2b7k"};
           }),
       {"POST", path + "/failed",
        R"({"collectors":["dqn-collector-x2b7k"],"coordinator":"dqn-coordinator",)"
        R"("learners":["dqn-learner-x2b7k.rl:80","dqn-aggregator-x2b7k","dqn-ddp-learner-x2b7k"],)"
        R"("namespace":"rl"})"}},
      {"others, on behalf of another pod: the first word is a replica, too",
       ask(Verb::kReplace,
           [](auto& a) {
             a.job = "dqn-learner-a2b7k";
             a.coordinator = "p";
             a.pods = {"dqn-collector-x2b7k"};
           }),
       {"POST", path + "/failed",
        R"({"collectors":["dqn-collector-x2b7k"],"coordinator":"p",)"
        R"("learners":["dqn-learner-a2b7k"],"namespace":"rl"})"}},
      {"a collector of a job that is called like a learner",
       ask(Verb::kReplace, [](auto& a) { a.pods = {"a-learner-b-collector-x2b7k.collector:80"}; }),
       {"POST", path + "/failed",
        R"({"collectors":["a-learner-b-collector-x2b7k.collector:80"],)"
        R"("coordinator":"dqn-coordinator","learners":[],"namespace":"rl"})"}},
  }));
  INFO(row.when);
  const auto call = call_for(row.ask);
  REQUIRE(call);
  CHECK(*call == row.want);
}

TEST_CASE("invalid arguments are rejected before anything is sent", "[cli][replicas]") {
  struct Row {
    std::string when;
    ReplicasAsk ask;
    std::string names;
  };
  const auto row = GENERATE(values<Row>({
      {"a job and a coordinator", ask(Verb::kGet, [](auto& a) { a.coordinator = "p"; }),
       "--coordinator"},
      {"a job and a name", ask(Verb::kGet, [](auto& a) { a.name = "p"; }), "only one"},
      {"a job without its namespace", ask(Verb::kGet, [](auto& a) { a.ns = ""; }), "--namespace"},
      {"nothing to add", ask(Verb::kAdd, [](auto&) {}), "--collectors or --learners"},
      {"a negative count",
       ask(Verb::kAdd,
           [](auto& a) {
             a.collectors = 2;
             a.learners = -1;
           }),
       "negative"},
      {"no job to add to",
       ask(Verb::kAdd,
           [](auto& a) {
             a.job = "";
             a.learners = 1;
           }),
       "job"},
      {"no namespace to add in",
       ask(Verb::kAdd,
           [](auto& a) {
             a.ns = "";
             a.learners = 1;
           }),
       "--namespace"},
      {"nothing to replace", ask(Verb::kReplace, [](auto&) {}), "name"},
  }));
  INFO(row.when);
  const auto call = call_for(row.ask);
  REQUIRE_FALSE(call);
  CHECK(call.error().code == Code::kInvalid);
  CHECK(call.error().message.find(row.names) != std::string::npos);
}

TEST_CASE("a reply is parsed into its data or the server's message", "[cli][replicas]") {
  struct Row {
    std::string when;
    int status;
    std::string body;
    std::optional<Code> want;
    std::string says;
  };
  const auto row = GENERATE(values<Row>({
      {"done", 200, R"({"success":true,"code":0,"message":"m","data":[1]})", std::nullopt, "[1]"},
      {"the call may be retried", 200, R"({"success":false,"code":1,"message":"wait","data":null})",
       Code::kTransient, "wait"},
      {"rejected", 409, R"({"success":false,"code":1,"message":"too many","data":null})",
       Code::kConflict, "409 too many"},
      {"another program answers", 200, "<html>", Code::kInvalid, "that is not nervex-server"},
      {"a proxy redirects", 302, "<html>", Code::kInvalid, "redirects are not followed"},
      {"another API answers", 404, R"({"kind":"Status"})", Code::kInvalid, "404"},
  }));
  INFO(row.when);
  const auto data = parse_reply_data(row.status, row.body);
  REQUIRE(data.has_value() == !row.want);
  if (data) {
    CHECK(data->dump() == row.says);
  } else {
    CHECK(data.error().code == *row.want);
    CHECK(data.error().message.find(row.says) != std::string::npos);
  }
}

TEST_CASE("replicas are shown one per line", "[cli][replicas]") {
  const Json one = Json::parse(R"({"namespace":"rl","coordinator":"dqn-coordinator",
    "collectors":["dqn-collector-x2b7k.rl:80"],"learners":["dqn-aggregator-bb222.rl:80"]})");
  CHECK(replicas_table(one) ==
        "NAMESPACE  COORDINATOR      ROLE       ADDRESS\n"
        "rl         dqn-coordinator  collector  dqn-collector-x2b7k.rl:80\n"
        "rl         dqn-coordinator  learner    dqn-aggregator-bb222.rl:80\n");
  const Json none = Json::parse(R"({"namespace":"rl","coordinator":"c\u001b",
    "collectors":[],"learners":[]})");
  CHECK(replicas_table(Json::array({none})) ==
        "NAMESPACE  COORDINATOR  ROLE  ADDRESS\n"
        "rl         c?           none  -\n");
  CHECK(replicas_table(Json::array()) == "NAMESPACE  COORDINATOR  ROLE  ADDRESS\n");
}

TEST_CASE("kubectl port-forward names its local port", "[cli][replicas]") {
  CHECK(parse_forwarded_port("Forwarding from 127.0.0.1:40123 -> 8080") == 40123);
  CHECK_FALSE(parse_forwarded_port("error: forbidden"));
  CHECK_FALSE(parse_forwarded_port("Forwarding from 127.0.0.1: -> 8080"));
}

}  // namespace nervex::cli
