#include "kube/model/server_version.h"

#include <optional>
#include <string>

#include <catch2/catch_test_macros.hpp>

namespace nervex::kube {
namespace {

TEST_CASE("the minor version of Kubernetes is read from what providers append to",
          "[kube][version]") {
  CHECK(read_minor("v1.36.3") == 36);
  CHECK(read_minor("v1.33.5-gke.1080000") == 33);
  CHECK(read_minor("v1.31.12+k3s1") == 31);
  for (const char* other : {"", "v1.", "v2.1.0", "1.36.3", "master"}) {
    INFO(other);
    CHECK(read_minor(other) == std::nullopt);
  }
}

TEST_CASE("a Kubernetes is unsupported if it is known to be too old", "[kube][version]") {
  CHECK_FALSE(is_supported("v1.30.14"));
  CHECK(is_supported("v1.31.0"));
  CHECK(is_supported("v1.40.0-alpha.1"));
  CHECK(is_supported("master"));
}

TEST_CASE("the version is gitVersion of the reply", "[kube][version]") {
  const auto version =
      decode_server_version(R"({"major":"1","minor":"36","gitVersion":"v1.36.3"})");
  REQUIRE(version.has_value());
  CHECK(*version == "v1.36.3");
  CHECK_FALSE(decode_server_version("404 page not found").has_value());
}

}  // namespace
}  // namespace nervex::kube
