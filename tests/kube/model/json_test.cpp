#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "kube/model/json.h"
#include "kube/model/quick_parse.h"

namespace nervex::kube {
namespace {

using Catch::Matchers::ContainsSubstring;

std::string nested(int depth) {
  return std::string(static_cast<std::size_t>(depth), '[') +
         std::string(static_cast<std::size_t>(depth), ']');
}

TEST_CASE("parse_json refuses bad text without throwing", "[kube][json]") {
  const auto text = GENERATE(std::string(""), std::string("{"), std::string("{\"a\":}"),
                             std::string("[1,]"), std::string("nul"), std::string("\"\xff\""),
                             std::string("1e999"), std::string("{} {}"), std::string("\"\\ud800\""),
                             nested(1001), std::string(100'000, '['));
  const auto got = parse_json(text);
  REQUIRE_FALSE(got);
  CHECK(got.error().code == Code::kInvalid);
}

TEST_CASE("parse_json reads to the end of the text, also over zero bytes", "[kube][json]") {
  using namespace std::string_literals;
  const auto text = GENERATE("{}\0"s, "{}\0{"s, "\0{}"s, "[1,\0 2]"s, "\"a\0b\""s);
  const auto got = parse_json(text);
  REQUIRE_FALSE(got);
  CHECK(got.error().code == Code::kInvalid);
}

TEST_CASE("parse_json reports the position of an error", "[kube][json]") {
  CHECK_THAT(parse_json("{\n\"a\": tru}").error().message, ContainsSubstring("line 2"));
  const auto long_token = parse_json("\"" + std::string(100'000, 'a'));
  CHECK_THAT(long_token.error().message, ContainsSubstring("line 1"));
  CHECK(long_token.error().message.size() < 400);
}

TEST_CASE("parse_json counts depth only outside strings", "[kube][json]") {
  CHECK(parse_json(nested(1000)));
  CHECK(parse_json("\"" + std::string(5000, '[') + "\""));
  CHECK(parse_json(R"(["\"[[", "\\"])"));
}

TEST_CASE("append_text writes a string as to_text does", "[kube][json]") {
  const auto text =
      GENERATE(as<std::string>{}, "", "n1", "a b~", R"(the gang "g" waits)", "a\\b", "two\nlines",
               std::string("nul\0", 4), "\x7f", "\u00e4\u20ac", "not UTF-8 \xff", "cut \xe2\x82");
  std::string written = "before ";
  append_text(written, text);
  CHECK(written == "before " + to_text(Json(text)));
}

TEST_CASE("discard leaves nothing of a document", "[kube][json]") {
  const auto text =
      GENERATE(as<std::string>{}, "null", "1", R"("a")", "[]", "{}",
               R"({"a":{"b":[1,{"c":"a text that is too long for its own place"}]},"d":[[]]})",
               nested(1000));
  Json value = *parse_json(text);
  discard(value);
  CHECK(value.is_null());
}

TEST_CASE("append_texts writes a list as to_text does", "[kube][json]") {
  const auto texts =
      GENERATE(as<std::vector<std::string>>{}, std::vector<std::string>{},
               std::vector<std::string>{"a"}, std::vector<std::string>{"a", "", "\""});
  std::string written;
  append_texts(written, texts);
  CHECK(written == to_text(Json(texts)));
}

// The result of nlohmann's own parser; nullopt: not JSON.
std::optional<Json> parse_slowly(const std::string& text) {
  const Json value = Json::parse(text, nullptr, false);
  return value.is_discarded() ? std::nullopt : std::optional(value);
}

TEST_CASE("the quick parser reads what nlohmann reads, or leaves it to it", "[kube][json]") {
  const auto text =
      GENERATE(as<std::string>{}, "0", "-0", "-1", "9223372036854775807", "9223372036854775808",
               "-9223372036854775808", "-9223372036854775809", "18446744073709551615",
               "18446744073709551616", "1.0", "1e3", "-0.0", "5e-324", "1e-999", "0.1e1", "1e400",
               "01", "1.", "+1", "true", "null", "nul", R"("")", R"("\u00e4\ud83d\ude00\n\/")",
               R"("\ud800")", R"("\udc00x")", "\"\t\"", "\"\xc3\xa4\"", "\"\xed\xa0\x80\"",
               "\"\xff\"", "\xef\xbb\xbf{}", " [ 1 , {} ] ", R"({"b":1,"a":2,"b":[3]})",
               R"({"":{"":null}})", "[1,]", "{} x", "", " ", "{\"a\":1", "[\"a\"");
  INFO(text);
  const auto quick = quick_parse(text, kMaxJsonDepth);
  const auto slow = parse_slowly(text);
  if (quick) {
    REQUIRE(slow);
    CHECK(*quick == *slow);
    CHECK(quick->type() == (text == "-0" ? Json::value_t::number_unsigned : slow->type()));
    CHECK(quick->dump() == slow->dump());
  }
  const auto parsed = parse_json(text);
  CHECK(parsed.has_value() == slow.has_value());
  if (parsed && slow) CHECK(*parsed == *slow);
}

TEST_CASE("the quick parser takes the usual texts", "[kube][json]") {
  CHECK(quick_parse(R"({"kind":"A","list":[1,-1,1.5,true,null,"\u00e4"]})", kMaxJsonDepth));
  CHECK(quick_parse(nested(90), 100));
  CHECK_FALSE(quick_parse(nested(101), 100));
  CHECK_FALSE(quick_parse("[" + std::string(2 << 20, ' ') + "]", 100));  // too large to be quick
  CHECK(parse_json("[" + std::string(2 << 20, ' ') + "]"));
}

TEST_CASE("the last one of duplicate keys wins", "[kube][json]") {
  CHECK(int_at(*parse_json(R"({"a":1,"a":2})"), {"a"}) == 2);
}

TEST_CASE("to_text replaces invalid UTF-8", "[kube][json]") {
  CHECK(to_text({{"a", "x\xff"}}) == "{\"a\":\"x\xef\xbf\xbd\"}");
}

TEST_CASE("the values of a text are counted without parsing it", "[kube][json]") {
  struct Row {
    std::string text;
    JsonCount want;
  };
  const auto row = GENERATE(values<Row>({
      {"1", {1, 0, 0, 0}},
      {"[1,2]", {3, 0, 1, 0}},
      {R"({"a":1,"b":[2,"3"]})", {5, 2, 2, 1}},
      {R"("[,:{")", {1, 0, 0, 1}},
      {R"({"a\\":"\",,\""})", {2, 1, 1, 1}},
      {"", {1, 0, 0, 0}},
      {"[[[", {4, 0, 3, 0}},
      {"\"", {1, 0, 0, 1}},
      {R"("a":")", {1, 0, 0, 2}},
      {"[1,2::::", {3, 1, 1, 0}},  // what is no JSON does not make it less
  }));
  INFO(row.text);
  CHECK(count_json(row.text) == row.want);
  const JsonCount at_most = count_json_at_most(row.text);
  CHECK(at_most.values >= row.want.values);
  CHECK(at_most.members >= row.want.members);
  CHECK(at_most.containers >= row.want.containers);
  CHECK(at_most.strings >= row.want.strings);
}

TEST_CASE("lookups answer the default for anything absent or of another type", "[kube][json]") {
  const Json value = *parse_json(R"({"a":{"text":"t","int":-5,"big":9223372036854775808,
      "float":1.0,"yes":true,"null":null,"list":[1,2]},"array":[{"x":1}]})");
  CHECK(string_at(value, {"a", "text"}) == "t");
  CHECK(string_at(value, {"a", "int"}, "none") == "none");
  CHECK(string_at(value, {"a", "null"}, "none") == "none");
  CHECK(string_at(value, {"array", "x"}, "none") == "none");
  CHECK(int_at(value, {"a", "int"}) == -5);
  CHECK(int_at(value, {"a", "big"}, 7) == 7);
  CHECK(int_at(value, {"a", "float"}, 7) == 7);
  CHECK(bool_at(value, {"a", "yes"}));
  CHECK(bool_at(value, {"a", "int"}, true));
  CHECK(find(value, {"a", "null"}) == nullptr);
  CHECK(find(value, {"b", "c"}) == nullptr);
  CHECK(find(value, {}) == &value);
  CHECK(array_at(value, {"a", "list"}).size() == 2);
  CHECK(array_at(value, {"a", "text"}).empty());
}

}  // namespace
}  // namespace nervex::kube
