#include "kube/model/json_hash.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>

namespace nervex::kube {
namespace {

Hash128 hash_all(const std::vector<Json>& values) {
  SipHash hash({1, 2});
  for (const Json& value : values) add_json(hash, value);
  return hash.finish();
}

TEST_CASE("values that look alike have different hashes", "[kube][json]") {
  const auto list = [](const char* text) { return Json::parse(text).get<std::vector<Json>>(); };
  std::map<std::uint64_t, std::string> seen;
  for (const char* const values : {"[]",
                                   "[null]",
                                   "[false]",
                                   "[true]",
                                   "[0]",
                                   "[0.0]",
                                   "[1]",
                                   "[1.0]",
                                   "[-1]",
                                   "[18446744073709551615]",
                                   R"([""])",
                                   R"(["0"])",
                                   R"(["null"])",
                                   "[[]]",
                                   "[{}]",
                                   "[[null]]",
                                   "[[[]]]",
                                   "[[], []]",
                                   "[[1, 2]]",
                                   "[[1], 2]",
                                   "[1, 2]",
                                   "[2, 1]",
                                   R"([{"a": 1}])",
                                   R"([{"a": 1, "b": 2}])",
                                   R"([{"a": 1}, {"b": 2}])",
                                   R"([{"a": {"b": 2}}])",
                                   R"([["a", 1]])",
                                   R"(["a", 1])",
                                   R"([{"a": null}])"}) {
    const auto [at, is_new] = seen.emplace(hash_all(list(values)).low, values);
    INFO(values << " and " << at->second);
    CHECK(is_new);
  }
}

TEST_CASE("a number has one hash, as one type or another", "[kube][json]") {
  CHECK(hash_all({std::int64_t{7}}) == hash_all({std::uint64_t{7}}));
  CHECK_FALSE(hash_all({std::int64_t{-1}}) == hash_all({UINT64_MAX}));
}

}  // namespace
}  // namespace nervex::kube
