#include "job/topology_levels.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators_all.hpp>

#include "tests/job/texts.h"

namespace nervex::job {
namespace {

using testing::texts;
using testing::Texts;
using Levels = std::vector<std::string>;

}  // namespace

TEST_CASE("topology levels are label keys, separated by commas", "[job][topology]") {
  struct Row {
    std::string text;
    Levels want;
    std::string error;
  };
  const std::string form =
      "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end "
      "with an alphanumeric character";
  const auto row = GENERATE_COPY(values<Row>({
      {std::string(kDefaultTopologyLevels),
       {"topology.kubernetes.io/zone", "kubernetes.io/hostname"},
       ""},
      {"rack", {"rack"}, ""},
      {"zone,example.com/rack,host", {"zone", "example.com/rack", "host"}, ""},
      {"", {}, "\"\" is not a label key: name part must be non-empty"},
      {"zone,,host", {}, "\"\" is not a label key: name part must be non-empty"},
      {"zone,", {}, "\"\" is not a label key: name part must be non-empty"},
      {"zone, host", {}, "\" host\" is not a label key: " + form},
      {"zone,host,zone", {}, "zone is named twice"},
  }));
  INFO("text " << row.text);
  const auto levels = parse_topology_levels(row.text);
  if (row.error.empty()) {
    REQUIRE(levels);
    CHECK(*levels == row.want);
  } else {
    REQUIRE_FALSE(levels);
    CHECK(levels.error() == Error{Code::kInvalid, row.error});
  }
}

TEST_CASE("topologies name only levels of the cluster", "[job][topology]") {
  struct Row {
    std::string when;
    std::string spec;
    Texts want;
  };
  const std::string why =
      "must be one of: zone, host; an administrator adds node labels with --topology-levels of "
      "nervex-webhook and nervex-extender";
  const auto row = GENERATE_COPY(values<Row>({
      {"there is no topology", R"({"collector": {}})", {}},
      {"all levels exist",
       R"({"topology": {"level": "zone"}, "collector": {"topology": {"level": "host"}},
           "learner": {"topology": {"level": "host"}}})",
       {}},
      {"no level exists",
       R"({"topology": {"level": "rack"}, "collector": {"topology": {"level": "Zone"}},
           "learner": {"topology": {"level": "zone,host"}}})",
       {R"(spec.topology.level: Unsupported value: "rack": )" + why,
        R"(spec.collector.topology.level: Unsupported value: "Zone": )" + why,
        R"(spec.learner.topology.level: Unsupported value: "zone,host": )" + why}},
      {"other checks report the value",
       R"({"topology": {"level": ""}, "collector": {"topology": {"level": 7}},
           "learner": {"topology": "rack"}})",
       {}},
      {"the spec is a list", "[]", {}},
  }));
  INFO("when " << row.when);
  const Json object = {{"spec", Json::parse(row.spec)}};
  CHECK(texts(check_topology_levels(object, Levels{"zone", "host"})) == row.want);
}

}  // namespace nervex::job
