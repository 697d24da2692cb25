#include "webhook/did_you_mean.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators_all.hpp>

namespace nervex::webhook {

TEST_CASE("did_you_mean finds the name that was meant, or none", "[webhook][did_you_mean]") {
  const std::vector<std::string> known{"args", "command", "containers", "env", "envFrom", "image"};
  struct Row {
    std::string when;
    std::string name;
    std::string want;
  };
  const auto row = GENERATE(values<Row>({
      {"two letters are swapped", "contaniers", "containers"},
      {"a letter is missing", "comand", "command"},
      {"there is one too many", "imagee", "image"},
      {"only the case differs", "ENVFROM", "envFrom"},
      {"a short name has one slip", "evn", "env"},
      {"two names are equally close", "erv", "env"},
      {"nothing is close", "nodeSelector", ""},
      {"it is empty", "", ""},
      {"it is huge", std::string(100'000, 'a'), ""},
  }));
  INFO("when " << row.when);
  CHECK(did_you_mean(row.name, known) == row.want);
}

}  // namespace nervex::webhook
