#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "cli/simulate/answer_text.h"
#include "cli/simulate/question.h"

namespace nervex::cli {
namespace {

TEST_CASE("--grow names a job and a number", "[cli][simulate]") {
  CHECK(*parse_growth("dqn=4") == Json{{"job", "dqn"}, {"replicas", 4}});
  const auto* wrong = GENERATE("", "dqn", "dqn=", "=4", "dqn=0", "dqn=-1", "dqn=4x");
  INFO(wrong);
  REQUIRE_FALSE(parse_growth(wrong));
  CHECK(parse_growth(wrong).error().code == Code::kInvalid);
}

TEST_CASE("--nodes adds nodes like others, or leaves one out", "[cli][simulate]") {
  CHECK(parse_node_changes({})->is_null());
  CHECK(
      *parse_node_changes({"+8:A100", "-n1", "+1:n2", "-n3"}) ==
      Json{{"add", Json::array({{{"like", "A100"}, {"count", 8}}, {{"like", "n2"}, {"count", 1}}})},
           {"remove", {"n1", "n3"}}});
  const auto* wrong = GENERATE("", "8", "+8", "+:A100", "+8:", "+x:A100", "-", "A100");
  INFO(wrong);
  REQUIRE_FALSE(parse_node_changes({wrong}));
  CHECK(parse_node_changes({wrong}).error().code == Code::kInvalid);
}

TEST_CASE("an answer says what would happen, where, and what helps", "[cli][simulate]") {
  struct Row {
    std::string what;
    Json spec;
    Json status;
    std::string text;
  };
  const Json job = {{"job", Json::object()}};
  const Json grow = {{"grow", Json::object()}};
  const Json nodes = {{"nodes", Json::object()}};
  const auto row = GENERATE_COPY(values<Row>({
      {"dqn",
       job,
       {{"verdict", "Starts"},
        {"message", "3 pods are placed"},
        {"nodeCount", 2},
        {"nodes", Json::array({{{"name", "n1"}, {"pods", {{"collector", 2}}}},
                               {{"name", "n2"}, {"pods", {{"coordinator", 1}}}}})},
        {"most", {{"role", "collector"}, {"count", 12}}}},
       "dqn would start now, on 2 nodes\n"
       "  NODE  PODS\n"
       "  n1    2 collector\n"
       "  n2    1 coordinator\n"
       "With at most 12 collectors it would start now.\n"},
      {"dqn",
       job,
       {{"verdict", "Waits"},
        {"message", "others hold it"},
        {"remedy", "Wait"},
        {"queue", {{"name", "vision"}, {"position", 10}}},
        {"start", {{"latest", "2026-11-21T16:00:00Z"}}},
        {"most", {{"role", "collector"}, {"count", -1}}}},
       "dqn would wait at position 10+ of queue vision: others hold it\n"
       "It would start at the latest at 2026-11-21T16:00:00Z, if no other job takes these nodes "
       "before: then enough running jobs have reached their time limits.\n"
       "Not even without collectors would it start now.\n"
       "What to do: wait until others end, or ask for less\n"},
      {"dqn",
       job,
       {{"verdict", "Never"},
        {"message", "too large"},
        {"remedy", "AskForLess"},
        {"cause", {{"code", "NeverFits"}}}},
       "dqn would never start: too large\n"
       "What to do: ask for less: an empty cluster would not suffice\n"},
      {"dqn",
       job,
       {{"verdict", "Waits"},
        {"message", "over quota"},
        {"remedy", "AskForLess"},
        {"cause", {{"code", "OverQuota"}}}},
       "dqn would wait: over quota\n"
       "What to do: ask for less, or for more quota\n"},
      {"4 more collectors of dqn",
       grow,
       {{"verdict", "Waits"},
        {"message", "others hold it"},
        {"most", {{"role", "collector"}, {"count", 1}}}},
       "4 more collectors of dqn would wait: others hold it\n"
       "Now at most 1 more collector would start.\n"},
      {"dqn",
       job,
       {{"verdict", "Preempts"},
        {"message", "3 pods wait for the end of others"},
        {"preempts",
         {{"count", 2}, {"gangs", Json::array({{{"podGroup", "a-1"}, {"gang", "base"}}})}}}},
       "dqn would start after 2 gangs that it preempts\n"
       "In this namespace it would preempt base of a-1.\n"},
      {"4 more collectors of dqn",
       grow,
       {{"verdict", "Invalid"}, {"message", "job dqn neither waits nor runs"}},
       "4 more collectors of dqn: no answer: job dqn neither waits nor runs\n"},
      {"what waits",
       nodes,
       {{"verdict", "Starts"},
        {"message", "3 waiting jobs would start"},
        {"starts", {{"count", 3}, {"jobs", {"a", "b"}}}}},
       "3 waiting jobs would start\n"
       "These nodes would start a, b and 1 job of other namespaces.\n"},
  }));
  CHECK(describe_answer(row.what, row.spec, row.status) == row.text);
}

TEST_CASE("an answer cannot control the terminal", "[cli][simulate]") {
  const std::string text = describe_answer("dqn", {{"job", Json::object()}},
                                           {{"verdict", "Waits"}, {"message", "\x1b[2Jgone"}});
  CHECK(text.find('\x1b') == std::string::npos);
}

}  // namespace
}  // namespace nervex::cli
