// The quick parser of JSON reads what nlohmann's own reads, or leaves it to that.
#include <cstdint>

#include "kube/model/quick_parse.h"
#include "tests/fuzz/admission.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using nervex::Json;
  using nervex::testing::require;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto quick = nervex::kube::quick_parse(text, nervex::kube::kMaxJsonDepth);
  if (quick) {
    const Json slow = Json::parse(text, nullptr, false);
    require(!slow.is_discarded(), "it is JSON");
    require(slow == *quick, "the same is read");
    require(slow.dump() == quick->dump(), "the same is written");
  }
  return 0;
}
