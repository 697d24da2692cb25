#include "webhook/review_memory.h"

#include <algorithm>

#include "job/schema/schema_check.h"
#include "kube/model/json.h"
#include "kube/model/quick_parse.h"

namespace nervex::webhook {
namespace {

// The document, and a copy without nulls or the patch.
constexpr std::size_t kDocuments = 2;
// Texts are in both documents, and in the answer: a message, or a patch in base64.
constexpr std::size_t kTexts = 6;
// An item's own 16 bytes, doubled when its array has grown.
constexpr std::size_t kItemBytes = 32;
// A map node with its key and value.
constexpr std::size_t kMemberBytes = 96;
// Heap block of a container or a text, even if empty.
constexpr std::size_t kContainerBytes = 64;
constexpr std::size_t kStringBytes = 48;
// One wrong value in a report: valijson's text about it and its ancestors, and ours.
constexpr std::size_t kReportBytes = 2'500;
constexpr std::size_t kFixedBytes = 64 << 10;
// Above this, exact counting is worth its time: otherwise fewer reviews would run at once.
constexpr std::size_t kUsualBytes = std::size_t{8} << 20U;
// Growth of status, spec.requests and managedFields of a large job, old and new: 5,000 entries of
// status.ended and as many slots make 19 MB.
constexpr std::size_t kGrowthBytes = std::size_t{20} << 20U;
// What an update may add to an object that is already too large: spec.suspend, for one.
constexpr std::size_t kSmallChangeBytes = std::size_t{16} << 10U;
// For JSON of only "[]" or "{}" in arrays; all other JSON needs less memory per byte.
constexpr std::size_t kMostPerByte = (kItemBytes + kContainerBytes) / 2;

std::size_t document_bytes(const kube::JsonCount& count) {
  return (count.values - count.members) * kItemBytes + count.members * kMemberBytes +
         count.containers * kContainerBytes + count.strings * kStringBytes;
}

std::size_t text_bytes(std::size_t size) {
  return size * (size <= kube::kMaxQuickJson ? std::max(kTexts, kube::kQuickJsonBytes) : kTexts);
}

std::size_t report_bytes(std::size_t values) {
  return std::min(values, job::kMaxReportedValues) * kReportBytes;
}

std::size_t review_memory(const kube::JsonCount& count, std::size_t bytes) {
  return kFixedBytes + kDocuments * document_bytes(count) + text_bytes(bytes) +
         report_bytes(count.values);
}

}  // namespace

std::size_t review_memory(std::string_view body) {
  const std::size_t at_most = review_memory(kube::count_json_at_most(body), body.size());
  return at_most <= kUsualBytes ? at_most : review_memory(kube::count_json(body), body.size());
}

std::size_t update_memory(std::string_view object) {
  const kube::JsonCount count = kube::count_json(object);
  // A text above kMaxQuickJson needs less: an update may be on either side of it.
  const std::size_t texts = std::max(text_bytes(2 * object.size()),
                                     text_bytes(std::min(2 * object.size(), kube::kMaxQuickJson)));
  return kFixedBytes + kDocuments * 2 * document_bytes(count) + texts +
         report_bytes(2 * count.values) + kGrowthBytes;
}

bool is_too_large_to_change(const kube::AdmissionRequest& request, std::size_t body_bytes,
                            std::size_t budget) {
  const std::size_t at_most = kFixedBytes + kDocuments * 2 * kMostPerByte * body_bytes +
                              2 * body_bytes * kube::kQuickJsonBytes +
                              job::kMaxReportedValues * kReportBytes + kGrowthBytes;
  if (at_most <= budget) return false;
  const std::size_t bytes = update_memory(kube::to_text(request.object));
  if (bytes <= budget) return false;
  return request.old_object.is_null() ||
         bytes > update_memory(kube::to_text(request.old_object)) + kSmallChangeBytes;
}

bool is_too_large_to_store(const kube::AdmissionRequest& request, std::size_t body_bytes) {
  if (body_bytes <= kMaxStoredBytes) return false;
  const std::size_t bytes = kube::to_text(request.object).size();
  if (bytes <= kMaxStoredBytes) return false;
  return request.old_object.is_null() ||
         bytes > kube::to_text(request.old_object).size() + kSmallChangeBytes;
}

}  // namespace nervex::webhook
