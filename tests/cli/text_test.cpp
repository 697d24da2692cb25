#include "cli/text.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators_all.hpp>

namespace nervex::cli {

TEST_CASE("a duration is told in the units people think in", "[cli][text]") {
  struct Row {
    int seconds;
    std::string want;
  };
  const auto row = GENERATE(values<Row>({{-5, "0 s"},
                                         {0, "0 s"},
                                         {119, "119 s"},
                                         {120, "2 min"},
                                         {7199, "119 min"},
                                         {7500, "2 h 5 min"},
                                         {2 * 86'400, "2 d"}}));
  INFO(row.seconds);
  const SysTime then{};
  CHECK(duration_since(then, then + std::chrono::seconds(row.seconds)) == row.want);
}

TEST_CASE("what objects say cannot command a terminal", "[cli][text]") {
  CHECK(printable("pull \x1b[31mred\x07") == "pull ?[31mred?");
  CHECK(printable("two\nlines\tand tabs") == "two lines and tabs");
  CHECK(printable("a \xC2\x9B b") == "a ? b");
  CHECK(printable("k\xC3\xB6ln") == "k\xC3\xB6ln");
}

TEST_CASE("columns are as wide as their widest cell", "[cli][text]") {
  CHECK(table({{"A", "LONG", "X"}, {"long", "b", "y"}, {"only"}}, "  ") ==
        "  A     LONG  X\n"
        "  long  b     y\n"
        "  only\n");
  CHECK(table({}, "  ").empty());
}

}  // namespace nervex::cli
