#include "job/pin.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

namespace nervex::job {
namespace {

Json spec_with_terms(Json terms) {
  Json spec;
  spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
      ["nodeSelectorTerms"] = std::move(terms);
  return spec;
}

const Json kPin = Json::parse(R"({"key":"metadata.name","operator":"In","values":["n1"]})");

TEST_CASE("a pin goes into every term that demands something", "[job][pin]") {
  struct Row {
    std::string when;
    Json spec;
    Json want_terms;
  };
  const Json gpu = Json::parse(R"({"key":"gpu","operator":"Exists"})");
  const auto row = GENERATE_COPY(values<Row>({
      {"there is no affinity", Json::object(), Json::array({{{"matchFields", {kPin}}}})},
      {"affinity is not what it should be",
       {{"affinity", 7}},
       Json::array({{{"matchFields", {kPin}}}})},
      {"two terms are ORed",
       spec_with_terms(Json::array({{{"matchExpressions", {gpu}}}, {{"matchFields", {gpu}}}})),
       Json::array({{{"matchExpressions", {gpu}}, {"matchFields", {kPin}}},
                    {{"matchFields", {gpu, kPin}}}})},
      {"a term matches nothing", spec_with_terms(Json::array({Json::object()})),
       Json::array({Json::object()})},
  }));
  INFO("when " << row.when);
  Json spec = row.spec;
  pin_to_node(spec, "n1");
  CHECK(spec == spec_with_terms(row.want_terms));
}

TEST_CASE("a pin keeps other kinds of affinity", "[job][pin]") {
  Json spec = {{"affinity", {{"podAffinity", {{"kept", true}}}}}};
  pin_to_node(spec, "n1");
  CHECK(spec["affinity"]["podAffinity"]["kept"] == true);
}

}  // namespace
}  // namespace nervex::job
