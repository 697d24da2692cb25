#include "kube/freshness.h"

#include <catch2/catch_test_macros.hpp>

namespace nervex::kube {
namespace {

TEST_CASE("nobody asked: nothing is open", "[kube][freshness]") {
  Freshness freshness;
  CHECK_FALSE(freshness.is_open());
  freshness.reached("5");
  CHECK_FALSE(freshness.is_open());
}

TEST_CASE("only a list that was begun after the question answers it", "[kube][freshness]") {
  Freshness freshness;
  const auto before = freshness.asked();
  freshness.ask();
  freshness.listed(before);
  CHECK(freshness.is_open());
  freshness.listed(freshness.asked());
  CHECK_FALSE(freshness.is_open());
}

TEST_CASE("a watch answers once it has reached the version asked for", "[kube][freshness]") {
  Freshness freshness;
  freshness.ask();
  CHECK_FALSE(freshness.is_expecting());
  REQUIRE(freshness.expect(freshness.asked(), "1000", "990"));
  CHECK(freshness.is_expecting());
  freshness.reached("999");
  CHECK(freshness.is_open());
  SECTION("exactly") { freshness.reached("1000"); }
  SECTION("and beyond") { freshness.reached("20000"); }
  CHECK_FALSE(freshness.is_open());
}

TEST_CASE("a watch that is there already needs no wait", "[kube][freshness]") {
  Freshness freshness;
  freshness.ask();
  CHECK(freshness.expect(freshness.asked(), "7", "7"));
  CHECK_FALSE(freshness.is_open());
}

TEST_CASE("a watch that is beyond what is stored has met a restored etcd", "[kube][freshness]") {
  Freshness freshness;
  freshness.ask();
  CHECK_FALSE(freshness.expect(freshness.asked(), "7", "8"));
  CHECK(freshness.is_open());
}

TEST_CASE("versions that are no numbers only equal themselves", "[kube][freshness]") {
  Freshness freshness;
  freshness.ask();
  CHECK(freshness.expect(freshness.asked(), "b", "a"));
  freshness.reached("c");
  CHECK(freshness.is_open());
  freshness.reached("b");
  CHECK_FALSE(freshness.is_open());
}

TEST_CASE("a question asked during an answer stays open", "[kube][freshness]") {
  Freshness freshness;
  freshness.ask();
  const auto first = freshness.asked();
  freshness.ask();
  SECTION("a list") { freshness.listed(first); }
  SECTION("a version") {
    CHECK(freshness.expect(first, "7", "5"));
    CHECK_FALSE(freshness.is_expecting());
    freshness.reached("8");
  }
  CHECK(freshness.is_open());
}

}  // namespace
}  // namespace nervex::kube
