#include "job/text.h"

#include <catch2/catch_test_macros.hpp>

namespace nervex::job {
namespace {

TEST_CASE("the end of a long text is kept, and no half characters", "[job][text]") {
  CHECK(last_bytes("", 4).empty());
  CHECK(last_bytes("abcd", 4) == "abcd");
  CHECK(last_bytes("abcde", 4) == "bcde");
  CHECK(last_bytes("\u00fcbcd", 4) == "bcd");   // its second byte alone is nothing
  CHECK(last_bytes("a\U0001F600b", 4) == "b");  // three of four bytes are nothing
  CHECK(last_bytes("a\U0001F600b", 5) == "\U0001F600b");
  CHECK(last_bytes("\x80\x80\x80", 2).empty());  // nor is what is broken from the start
}

TEST_CASE("a duration is said as kubectl says it", "[job][text]") {
  using std::chrono::seconds;
  CHECK(short_duration(seconds(-3)) == "0s");
  CHECK(short_duration(seconds(119)) == "119s");
  CHECK(short_duration(seconds(150)) == "2m30s");
  CHECK(short_duration(seconds(3599)) == "59m");
  CHECK(short_duration(seconds(5 * 3600 + 600)) == "5h10m");
  CHECK(short_duration(seconds(3 * 86400 + 4 * 3600)) == "3d4h");
  CHECK(short_duration(seconds(30 * 86400)) == "30d");
}

}  // namespace
}  // namespace nervex::job
