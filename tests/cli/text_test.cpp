#include "cli/text.h"

#include <catch2/catch_test_macros.hpp>

#include "cli/terminal.h"

namespace nervex::cli {

TEST_CASE("an age is formatted as by kubectl", "[cli][text]") {
  const SysTime then{};
  CHECK(duration_since(then, then + std::chrono::milliseconds(125'900)) == "2m5s");
  CHECK(duration_since(then, then - std::chrono::seconds(5)) == "0s");  // clocks differ
}

TEST_CASE("control characters of objects do not reach the terminal", "[cli][text]") {
  CHECK(printable("pull \x1b[31mred\x07") == "pull ?[31mred?");
  CHECK(printable("two\nlines\tand tabs") == "two lines and tabs");
  CHECK(printable("a \xC2\x9B b") == "a ? b");
  CHECK(printable("k\xC3\xB6ln") == "k\xC3\xB6ln");
  CHECK(printable("del \x7F, right to left \xE2\x80\xAE, isolate \xE2\x81\xA7, marks "
                  "\xE2\x80\x8F\xD8\x9C") == "del ?, right to left ?, isolate ?, marks ??");
  CHECK(printable("not UTF-8: \x9B") == "not UTF-8: ?");
}

TEST_CASE("a whole output keeps its lines, and its colours on a terminal that shows them",
          "[cli][text]") {
  const std::string red = Paint(true)(Colour::kRed, "ab");
  CHECK(printable_output("NAME\tA\nk\xC3\xB6ln\x1b[2J\x7F\n", true) ==
        "NAME\tA\nk\xC3\xB6ln?[2J?\n");
  CHECK(printable_output(red + "\x1b[31", true) == red + "?[31");
  CHECK(printable_output(red, false) == "?[31mab?[0m");
  CHECK(printable_output("\xC2\x9B \xE2\x80\xAE", true) == "? ?");
}

TEST_CASE("long lines are broken at spaces, and code is not", "[cli][text]") {
  CHECK(wrap("one two three", 8) == "one two\nthree");
  CHECK(wrap("one\ntwo", 8) == "one\ntwo");
  CHECK(wrap("unbreakable word", 4) == "unbreakable\nword");
  CHECK(wrap("  code that is long\nand text", 8) == "  code that is long\nand text");
  CHECK(wrap("", 8).empty());
}

TEST_CASE("columns are as wide as their widest cell", "[cli][text]") {
  CHECK(table({{"A", "LONG", "X"}, {"long", "b", "y"}, {"only"}}, "  ") ==
        "  A     LONG  X\n"
        "  long  b     y\n"
        "  only\n");
  CHECK(table({}, "  ").empty());
}

TEST_CASE("colours and parts of a character take no width", "[cli][text]") {
  const std::string red = Paint(true)(Colour::kRed, "ab");
  CHECK(red == "\x1b[31mab\x1b[0m");
  CHECK(Paint(false)(Colour::kRed, "ab") == "ab");
  CHECK(table({{red, "x"}, {"k\xC3\xB6ln", "y"}}, "") == red + "    x\nk\xC3\xB6ln  y\n");
}

TEST_CASE("rows that are added later keep the columns", "[cli][text]") {
  GrowingTable table;
  CHECK(table.add({{"NAME", "PHASE"}, {"dqn-long", "Created"}}) ==
        "NAME      PHASE\n"
        "dqn-long  Created\n");
  CHECK(table.add({{"a", "Running"}}) == "a         Running\n");
}

}  // namespace nervex::cli
