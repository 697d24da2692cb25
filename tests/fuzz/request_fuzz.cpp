// nervex-server keeps little of a request's body, and exactly what the whole document has there.
#include <cstdint>

#include "server/http/request.h"
#include "server/http/request_body.h"
#include "tests/fuzz/require.h"

namespace {

using nervex::Json;
using nervex::testing::require;

// The kept value is the document's value of that key; the end of a long text may be missing.
void compare(const Json& document, const Json& kept, const char* key) {
  if (!document.contains(key)) return;
  const Json& whole = document[key];
  require(kept.contains(key), "an exact key is kept");
  require(kept[key].type() == whole.type(), "its type is kept");
  if (whole.is_string()) {
    const auto text = whole.get<std::string>();
    require(kept[key] == text.substr(0, nervex::server::kMaxBodyText + 1), "its text is kept");
  } else if (!whole.is_structured()) {
    require(kept[key] == whole, "its value is kept");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr int kMaxItems = 3;
  constexpr std::size_t kMostKept = 200'000;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto document = nervex::kube::parse_json(text);
  const auto kept = nervex::server::parse_request_body(text, kMaxItems);
  require(kept.has_value() == (document && document->is_object()), "an object is read");
  if (kept) {
    for (const char* key : {"namespace", "coordinator", "collectors", "learners"}) {
      compare(*document, *kept, key);
    }
    require(nervex::kube::to_text(*kept).size() < kMostKept, "little is kept");
  }
  (void)nervex::server::parse_add_request(text);
  (void)nervex::server::parse_remove_request(text);
  (void)nervex::server::parse_replace_request(text, kMaxItems);
  return 0;
}
