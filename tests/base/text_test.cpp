#include "base/text.h"

#include <catch2/catch_test_macros.hpp>

namespace nervex {
namespace {

TEST_CASE("keep_end keeps whole characters at the end of a long text", "[base][text]") {
  CHECK(last_bytes("", 4).empty());
  CHECK(last_bytes("abcd", 4) == "abcd");
  CHECK(last_bytes("abcde", 4) == "bcde");
  CHECK(last_bytes("\u00fcbcd", 4) == "bcd");   // its second byte alone is nothing
  CHECK(last_bytes("a\U0001F600b", 4) == "b");  // three of four bytes are nothing
  CHECK(last_bytes("a\U0001F600b", 5) == "\U0001F600b");
  CHECK(last_bytes("\x80\x80\x80", 2).empty());  // nor is what is broken from the start
}

TEST_CASE("keep_start keeps whole characters at the start of a long text", "[base][text]") {
  CHECK(first_bytes("", 4).empty());
  CHECK(first_bytes("abcd", 4) == "abcd");
  CHECK(first_bytes("abcde", 4) == "abcd");
  CHECK(first_bytes("abc\u00fc", 4) == "abc");
  CHECK(first_bytes("a\U0001F600b", 4) == "a");
  CHECK(first_bytes("a\U0001F600b", 5) == "a\U0001F600");
  CHECK(first_bytes("\x80\x80\x80", 2).empty());
}

TEST_CASE("digits are the ten of ASCII, at least one", "[base][text]") {
  for (const char* text : {"0", "007", "18446744073709551616"}) CHECK(is_digits(text));
  for (const char* text : {"", "-1", "+1", " 1", "1.0", "1e3", "\u0663"})
    CHECK_FALSE(is_digits(text));
}

TEST_CASE("a cut text ends with a mark within its limit", "[base][text]") {
  CHECK(cut_text("abcdef", 6) == "abcdef");
  CHECK(cut_text("abcdefg", 6) == "abc...");
  CHECK(cut_text("ab\u00fcdefg", 6) == "ab...");
}

TEST_CASE("a long text is split into several", "[base][text]") {
  using Texts = std::vector<std::string>;
  CHECK(wrap_text("", 10, 3) == Texts{""});
  CHECK(wrap_text("ten bytes!", 10, 3) == Texts{"ten bytes!"});
  CHECK(wrap_text("one two three", 10, 3) == Texts{"one two...", "...three"});
  CHECK(wrap_text("one two three four", 13, 3) == Texts{"one two...", "...three four"});
  CHECK(wrap_text("onetwothreefour", 10, 3) == Texts{"onetwot..."});
  CHECK(wrap_text("one two three four", 10, 2) == Texts{"one two...", "...thre..."});
  CHECK(wrap_text("one two three four", 10, 1) == Texts{"one two..."});
  for (const auto& line : wrap_text("a bb ccc dddd eeeee ffffff ggggggg", 12, 9))
    CHECK(line.size() <= 12);
}

}  // namespace
}  // namespace nervex
