#include "cli/replicas/base_replicas.h"

#include <catch2/catch_test_macros.hpp>

#include "cli/replicas/port_forward.h"

namespace nervex::cli {
namespace {

const Json kScaledJob = {{"metadata", {{"name", "dqn"}, {"resourceVersion", "7"}}},
                         {"spec", {{"learner", {{"replicas", 2}, {"template", {}}}}}}};

TEST_CASE("base replicas are changed at the version that was read", "[cli][replicas]") {
  CHECK(*patch_base_replicas(kScaledJob, {.learners = 3}) ==
        Json{{"metadata", {{"resourceVersion", "7"}}}, {"spec", {{"learner", {{"replicas", 5}}}}}});
  CHECK(*patch_base_replicas(kScaledJob, {.learners = -2}) ==
        Json{{"metadata", {{"resourceVersion", "7"}}}, {"spec", {{"learner", {{"replicas", 0}}}}}});
}

TEST_CASE("base replicas that the job does not have cannot be changed", "[cli][replicas]") {
  CHECK(patch_base_replicas(kScaledJob, {.learners = -3}).error().message ==
        "the job has only 2 base learners");
  CHECK(patch_base_replicas(kScaledJob, {.collectors = 1}).error().message ==
        "the job has no collectors: spec.collector has no template");
}

TEST_CASE("kubectl port-forward names its local port", "[cli][replicas]") {
  CHECK(parse_forwarded_port("Forwarding from 127.0.0.1:40123 -> 8080") == 40123);
  CHECK_FALSE(parse_forwarded_port("error: forbidden"));
  CHECK_FALSE(parse_forwarded_port("Forwarding from 127.0.0.1: -> 8080"));
}

}  // namespace
}  // namespace nervex::cli
