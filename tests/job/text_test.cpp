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

}  // namespace
}  // namespace nervex::job
