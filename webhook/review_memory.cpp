#include "webhook/review_memory.h"

#include <algorithm>

#include "kube/model/json.h"
#include "webhook/schema_check.h"

namespace nervex::webhook {
namespace {

// The document, and the one without nulls or the patch.
constexpr std::size_t kDocuments = 2;
// Texts are in both, and in what is answered: a message, or a patch in base64.
constexpr std::size_t kTexts = 6;
// A value's own 16 bytes, twice as much where an array has grown, and the empty container that it
// may point to.
constexpr std::size_t kValueBytes = 112;
// A node of the map and its key.
constexpr std::size_t kMemberBytes = 96;
// One wrong value in a report: what valijson says of it and of those around it, and what we do.
constexpr std::size_t kReportBytes = 2'500;
constexpr std::size_t kFixedBytes = 64 << 10;

}  // namespace

std::size_t review_memory(std::string_view body) {
  const kube::JsonCount count = kube::count_json(body);
  const std::size_t document = count.values * kValueBytes + count.members * kMemberBytes;
  return kFixedBytes + kDocuments * document + kTexts * body.size() +
         std::min(count.values, kMaxReportedValues) * kReportBytes;
}

}  // namespace nervex::webhook
