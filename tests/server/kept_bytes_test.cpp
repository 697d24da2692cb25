// How much does the server keep of hostile objects, which have as many small values as fit?
#include <catch2/catch_test_macros.hpp>

#include <string>

#include "kube/cache/reflector.h"
#include "kube/cache/store.h"
#include "server/stores.h"
#include "tests/support/kept_bytes.h"
#include "tests/support/sanitized.h"

namespace nervex::server {
namespace {

// The PodGroup of a job whose coordinator tolerates as much as fits.
std::string hostile_group(int number) {
  return R"({"metadata":{"namespace":"rl","name":"g)" + std::to_string(number) +
         R"(","uid":"u"},"spec":{"attempt":2,"queuedSince":"2026-11-26T10:00:00Z",)" +
         R"("gangs":[{"name":"base","kind":"Base","members":[{"name":"coordinator",)" +
         R"("role":"coordinator","slots":[{"ordinal":0}],"tolerations":[)" +
         testing::repeat(R"({"key":"k","operator":"Exists"})", 800'000) + "]}]}]}}";
}

TEST_CASE("what the server keeps of a PodGroup does not grow with its constraints",
          "[server][memory]") {
  if (testing::kSanitized) SKIP("a sanitizer counts memory of its own");
  kube::Store<gang::PodGroup> groups;
  const double kept = testing::kept_per_byte(
      kube::sink_into<gang::PodGroup>(groups, decode_group, nullptr), 10, hostile_group);
  REQUIRE(groups.size() == 11);
  INFO(kept << " bytes for each byte stored");
  CHECK(kept < 0.01);
  const auto group = groups.get("rl/g1");
  CHECK(group->spec.attempt == 2);
  REQUIRE(group->spec.gangs.size() == 1);
  CHECK(group->spec.gangs[0].members.at(0).slots.size() == 1);
}

}  // namespace
}  // namespace nervex::server
