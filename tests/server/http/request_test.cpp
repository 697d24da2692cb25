#include "server/http/request.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

namespace nervex::server {
namespace {

std::string with(const std::string& rest) {
  return R"({"namespace":"rl","coordinator":"dqn-coordinator")" + rest + "}";
}

}  // namespace

TEST_CASE("a body is read as Go's decoder reads it", "[server][request]") {
  struct Row {
    std::string when;
    std::string body;
    AddRequest want;
  };
  const auto row = GENERATE(values<Row>({
      {"both groups are given, quantities as strings",
       with(R"(,"collectors":{"replicas":2,"cpus":"0.5","gpus":"0","memory":"200Mi"},)"
            R"("learners":{"replicas":3,"gpus":"1"})"),
       {"rl", "dqn-coordinator", {2, "0.5", "", "200Mi"}, {3, "", "1", ""}}},
      {"quantities are numbers",
       with(R"(,"collectors":{"replicas":1,"cpus":2,"memory":1.5e9})"),
       {"rl", "dqn-coordinator", {1, "2", "", "1500000000.0"}, {}}},
      {"zero quantities keep the template's value",
       with(R"(,"learners":{"replicas":1,"cpus":0,"gpus":0.0,"memory":"0Mi"})"),
       {"rl", "dqn-coordinator", {}, {1, "", "", ""}}},
      {"both groups are absent", with(""), {"rl", "dqn-coordinator", {}, {}}},
      {"groups and values are null",
       with(R"(,"collectors":null,"learners":{"replicas":null})"),
       {"rl", "dqn-coordinator", {}, {}}},
      {"keys come in any case",
       R"({"Namespace":"rl","COORDINATOR":"c","Collectors":{"REPLICAS":1,"CPUs":"1"}})",
       {"rl", "c", {1, "1", "", ""}, {}}},
      {"the exact key wins over another spelling",
       R"({"namespace":"rl","Namespace":"other","coordinator":"c"})",
       {"rl", "c", {}, {}}},
      {"unknown keys are ignored",
       with(R"(,"priority":[1],"learners":{"replicas":1,"disk":"x"})"),
       {"rl", "dqn-coordinator", {}, {1, "", "", ""}}},
      {"collectors have several GPUs",
       with(R"(,"collectors":{"replicas":1,"gpus":"4"})"),
       {"rl", "dqn-coordinator", {1, "", "4", ""}, {}}},
      {"learners have several GPUs",
       with(R"(,"learners":{"replicas":1,"gpus":10})"),
       {"rl", "dqn-coordinator", {}, {1, "", "10", ""}}},
      {"the limit is reached",
       with(R"(,"collectors":{"replicas":1000})"),
       {"rl", "dqn-coordinator", {1000, "", "", ""}, {}}},
      {"a quantity has blanks around it",
       with(R"(,"collectors":{"replicas":1,"cpus":" 2 "})"),
       {"rl", "dqn-coordinator", {1, "2", "", ""}, {}}},
  }));
  INFO("when " << row.when);
  const auto request = parse_add_request(row.body);
  REQUIRE(request);
  CHECK(*request == row.want);
}

TEST_CASE("a wrong body is refused, naming the field", "[server][request]") {
  struct Row {
    std::string when;
    std::string body;
    std::string names;
  };
  const auto row = GENERATE(values<Row>({
      {"the body is empty", "", "empty"},
      {"the body is blank", " \r\n", "empty"},
      {"it is no JSON", "{", "body"},
      {"something follows the object", with("") + "x", "body"},
      {"it is an array", "[]", "object"},
      {"it is null", "null", "object"},
      {"the namespace is missing", R"({"coordinator":"c"})", "namespace"},
      {"the namespace is a number", R"({"namespace":1,"coordinator":"c"})", "namespace"},
      {"the coordinator is empty", R"({"namespace":"rl","coordinator":""})", "coordinator"},
      {"the coordinator is longer than any name",
       R"({"namespace":"rl","coordinator":")" + std::string(254, 'a') + "\"}", "coordinator"},
      {"a group is a list", with(R"(,"learners":[])"), "learners"},
      {"replicas is a string", with(R"(,"learners":{"replicas":"2"})"), "learners.replicas"},
      {"replicas is a fraction", with(R"(,"learners":{"replicas":2.0})"), "learners.replicas"},
      {"replicas is negative", with(R"(,"learners":{"replicas":-1})"), "learners.replicas"},
      {"replicas is above the limit", with(R"(,"collectors":{"replicas":1001})"),
       "collectors.replicas"},
      {"replicas is beyond int64", with(R"(,"collectors":{"replicas":18446744073709551615})"),
       "collectors.replicas"},
      {"replicas is far below zero", with(R"(,"collectors":{"replicas":-9223372036854775808})"),
       "collectors.replicas"},
      {"cpus is a boolean", with(R"(,"collectors":{"replicas":1,"cpus":true})"), "collectors.cpus"},
      {"cpus is no quantity", with(R"(,"collectors":{"replicas":1,"cpus":"two"})"),
       "collectors.cpus"},
      {"cpus is an empty string", with(R"(,"collectors":{"replicas":1,"cpus":""})"),
       "collectors.cpus"},
      {"memory is negative", with(R"(,"collectors":{"replicas":1,"memory":"-1Mi"})"),
       "collectors.memory"},
      {"memory is beyond int64", with(R"(,"collectors":{"replicas":1,"memory":"99999Ei"})"),
       "collectors.memory"},
      {"memory is too long",
       with(R"(,"collectors":{"replicas":1,"memory":")" + std::string(100, '0') + "1\"}"),
       "collectors.memory"},
      {"a collector wants half a GPU", with(R"(,"collectors":{"replicas":1,"gpus":"500m"})"),
       "collectors.gpus"},
      {"a learner wants more GPUs than one can have",
       with(R"(,"learners":{"replicas":1,"gpus":1000000})"),
       "learners.gpus: a learner has at most"},
  }));
  INFO("when " << row.when);
  const auto request = parse_add_request(row.body);
  REQUIRE_FALSE(request);
  CHECK(request.error().code == Code::kInvalid);
  INFO(request.error().message);
  CHECK(request.error().message.find(row.names) != std::string::npos);
}

TEST_CASE("a removal has a count for each role", "[server][request]") {
  struct Row {
    std::string when;
    std::string body;
    std::optional<RemoveRequest> want;  // nullopt: refused
  };
  const RemoveRequest none{"rl", "dqn-coordinator", 0, 0};
  const auto row = GENERATE_COPY(values<Row>({
      {"no group is given", with(""), none},
      {"a group is null", with(R"(,"collectors":null)"), none},
      {"both are given", with(R"(,"collectors":{"replicas":1},"learners":{"replicas":2})"),
       RemoveRequest{"rl", "dqn-coordinator", 1, 2}},
      {"keys are in capitals", with(R"(,"Learners":{"REPLICAS":2})"),
       RemoveRequest{"rl", "dqn-coordinator", 0, 2}},
      {"resources are of no interest", with(R"(,"collectors":{"replicas":1,"cpus":true})"),
       RemoveRequest{"rl", "dqn-coordinator", 1, 0}},
      {"all that there may be is asked for", with(R"(,"learners":{"replicas":2147483647})"),
       RemoveRequest{"rl", "dqn-coordinator", 0, 2147483647}},
      {"the body is empty", "", std::nullopt},
      {"the coordinator is missing", R"({"namespace":"rl"})", std::nullopt},
      {"replicas is a string", with(R"(,"learners":{"replicas":"2"})"), std::nullopt},
      {"replicas is negative", with(R"(,"learners":{"replicas":-1})"), std::nullopt},
      {"a group is a number", with(R"(,"learners":2)"), std::nullopt},
  }));
  INFO("when " << row.when);
  const auto request = parse_remove_request(row.body);
  REQUIRE(request.has_value() == row.want.has_value());
  if (row.want) CHECK(*request == *row.want);
  if (!row.want) CHECK(request.error().code == Code::kInvalid);
}

TEST_CASE("a replacement names replicas", "[server][request]") {
  struct Row {
    std::string when;
    std::string body;
    std::optional<ReplaceRequest> want;  // nullopt: refused
  };
  const ReplaceRequest none{"rl", "dqn-coordinator", {}, {}};
  const auto row = GENERATE_COPY(values<Row>({
      {"no list is given", with(""), none},
      {"lists are empty or null", with(R"(,"collectors":[],"learners":null)"), none},
      {"names and addresses are given", with(R"(,"collectors":["a","b.rl:80"],"Learners":["c"])"),
       ReplaceRequest{"rl", "dqn-coordinator", {"a", "b.rl:80"}, {"c"}}},
      {"the body is empty", " ", std::nullopt},
      {"a list is an object", with(R"(,"collectors":{"replicas":1})"), std::nullopt},
      {"a list is a text", with(R"(,"collectors":"a")"), std::nullopt},
      {"a name is a number", with(R"(,"collectors":[1])"), std::nullopt},
      {"a name is null", with(R"(,"collectors":[null])"), std::nullopt},
      {"a name is empty", with(R"(,"collectors":[""])"), std::nullopt},
      {"a name is longer than any address",
       with(R"(,"collectors":[")" + std::string(513, 'a') + "\"]"), std::nullopt},
      {"too many are named", with(R"(,"collectors":["a","b","c","d"])"), std::nullopt},
  }));
  INFO("when " << row.when);
  const auto request = parse_replace_request(row.body, 3);
  REQUIRE(request.has_value() == row.want.has_value());
  if (row.want) CHECK(*request == *row.want);
  if (!row.want) CHECK(request.error().code == Code::kInvalid);
}

TEST_CASE("the number of replicas in a request is limited by a flag", "[server][request]") {
  CHECK(parse_add_request(with(R"(,"collectors":{"replicas":3})"), 3));
  CHECK_FALSE(parse_add_request(with(R"(,"collectors":{"replicas":4})"), 3));
}

TEST_CASE("an Idempotency-Key is kept as it is, or refused", "[server][request]") {
  CHECK(parse_key({})->empty());
  CHECK(*parse_key({{"idempotency-key", "\"8e03978e\""}}) == "\"8e03978e\"");
  CHECK(*parse_key({{"idempotency-key", std::string(255, 'k')}}) == std::string(255, 'k'));
  for (const std::string& bad : {std::string(), std::string(256, 'k'), std::string("k\xff")}) {
    const auto key = parse_key({{"idempotency-key", bad}});
    REQUIRE_FALSE(key);
    CHECK(key.error().code == Code::kInvalid);
  }
}

TEST_CASE("a query selects all jobs, a namespace's, or one thing", "[server][request]") {
  struct Row {
    std::string when;
    std::multimap<std::string, std::string> query;
    ListQuery want;
  };
  const auto row = GENERATE(values<Row>({
      {"there is none", {}, {}},
      {"the namespace is empty", {{"namespace", ""}}, {}},
      {"a namespace is given", {{"namespace", "rl"}}, {"rl", {}, {}, {}}},
      {"a key is written in capitals", {{"Namespace", "rl"}}, {"rl", {}, {}, {}}},
      {"a coordinator is given", {{"namespace", "rl"}, {"coordinator", "c"}}, {"rl", "c", {}, {}}},
      {"an aggregator is given", {{"namespace", "rl"}, {"aggregator", "a"}}, {"rl", {}, "a", {}}},
      {"a replica is named", {{"name", "p"}}, {{}, {}, {}, "p"}},
      {"a replica is named in its namespace",
       {{"namespace", "rl"}, {"name", "p"}},
       {"rl", {}, {}, "p"}},
  }));
  INFO("when " << row.when);
  const auto query = parse_list_query(row.query);
  REQUIRE(query);
  CHECK(*query == row.want);
}

TEST_CASE("a query without meaning is refused", "[server][request]") {
  struct Row {
    std::string when;
    std::multimap<std::string, std::string> query;
  };
  const auto row = GENERATE(values<Row>({
      {"a key is unknown", {{"namespaces", "rl"}}},
      {"a key is given twice", {{"namespace", "a"}, {"namespace", "b"}}},
      {"a coordinator lacks its namespace", {{"coordinator", "c"}}},
      {"an aggregator lacks its namespace", {{"aggregator", "a"}}},
      {"the coordinator is empty", {{"namespace", "rl"}, {"coordinator", ""}}},
      {"two selectors are given", {{"namespace", "rl"}, {"coordinator", "c"}, {"name", "p"}}},
      {"a value is longer than any name", {{"name", std::string(254, 'a')}}},
  }));
  INFO("when " << row.when);
  const auto query = parse_list_query(row.query);
  REQUIRE_FALSE(query);
  CHECK(query.error().code == Code::kInvalid);
}

}  // namespace nervex::server
