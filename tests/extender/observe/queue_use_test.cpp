// What counts as used in a queue, by the pods and Queues that the extender sees.
#include <catch2/catch_test_macros.hpp>

#include "tests/extender/limited_cluster.h"

namespace nervex::extender {
namespace {

using testing::kNs;
using testing::LimitedCluster;

TEST_CASE("pods of another operator's gang use the limit until they are gone", "[extender][use]") {
  LimitedCluster c;
  c.add_foreign_group();
  c.add_foreign_pod();
  c.see();
  c.see_foreign_groups();
  REQUIRE(c.reason_of_next() == "LimitExceeded");
  c.api.change(kube::kPods, kNs, "foreign-0",
               {{"metadata", {{"deletionTimestamp", "2026-11-26T10:00:00Z"}}}});
  CHECK(c.reason_of_next() == "LimitExceeded");
  c.api.remove(kube::kPods, kNs, "foreign-0");
  CHECK(c.reason_of_next() == "Planned");
}

}  // namespace
}  // namespace nervex::extender
