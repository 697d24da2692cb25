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
    Json status;
    std::string text;
  };
  const auto row = GENERATE(values<Row>({
      {"dqn",
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
       {{"verdict", "Waits"},
        {"message", "others hold it"},
        {"remedy", "Wait"},
        {"queue", {{"name", "vision"}, {"position", 10}}},
        {"most", {{"role", "collector"}, {"count", -1}}}},
       "dqn would wait at position 10+ of queue vision: others hold it\n"
       "Not even without collectors would it start now.\n"
       "What to do: wait until others end, or ask for less\n"},
      {"dqn",
       {{"verdict", "Never"}, {"message", "too large"}, {"remedy", "AskForLess"}},
       "dqn would never start: too large\n"
       "What to do: ask for less: an empty cluster would not suffice\n"},
      {"4 more collectors of dqn",
       {{"verdict", "Invalid"}, {"message", "job dqn neither waits nor runs"}},
       "4 more collectors of dqn: no answer: job dqn neither waits nor runs\n"},
      {"what waits",
       {{"verdict", "Starts"},
        {"message", "3 waiting jobs would start"},
        {"starts", {{"count", 3}, {"jobs", {"a", "b"}}}}},
       "what waits would start now: 3 waiting jobs would start\n"
       "These nodes would start a, b and 1 other of other namespaces.\n"},
  }));
  CHECK(describe_answer(row.what, row.status) == row.text);
}

TEST_CASE("an answer cannot control the terminal", "[cli][simulate]") {
  const std::string text =
      describe_answer("dqn", {{"verdict", "Waits"}, {"message", "\x1b[2Jgone"}});
  CHECK(text.find('\x1b') == std::string::npos);
}

}  // namespace
}  // namespace nervex::cli
