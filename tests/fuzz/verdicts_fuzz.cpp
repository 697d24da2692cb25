// If the quick schema check accepts a job, the full check finds no error.
//
// The input is a job as JSON, or a list of changes of a valid job: six bytes each; two of them
// give the place, two the new value.
#include <cstdint>

#include "tests/fuzz/admission.h"
#include "tests/job/corpus.h"

namespace nervex::testing {
namespace {

const Json& odd_values() {
  static const Json kValues = Json::parse(R"([null, true, -1, 0, 1.5, 2147483648,
      9223372036854775808, "", "x", "4Gi", "80%", [], {}, [null], {"a": null}, {"a": 1}, "Always"])");
  return kValues;
}

// A place of the job, a few levels above its `number`th leaf.
Json::json_pointer place_in(const Json& job, unsigned number, unsigned up) {
  const Json flat = job.flatten();
  auto at = flat.begin();
  std::advance(at, number % flat.size());
  Json::json_pointer place(at.key());
  for (; up > 0 && !place.parent_pointer().empty(); --up) place.pop_back();
  return place;
}

void change(Json& job, const std::uint8_t* bytes) {
  if (!job.is_structured() || job.empty()) return;  // an earlier change left nothing to change
  const unsigned number = bytes[0] | static_cast<unsigned>(bytes[1]) << 8U;
  const unsigned other = bytes[3] | static_cast<unsigned>(bytes[4]) << 8U;
  const auto place = place_in(job, number, bytes[2] % 6U);
  Json& parent = job[place.parent_pointer()];
  switch (bytes[5] % 4U) {
    case 0:
      if (parent.is_object()) parent.erase(place.back());
      break;
    case 1:
      job[place] = odd_values()[other % odd_values().size()];
      break;
    case 2:
      job[place] = Json(job[place_in(job, other, bytes[2] / 6U % 6U)]);
      break;
    default:  // under another name
      if (parent.is_object()) {
        const auto named = place_in(job, other, bytes[2] / 6U % 6U);
        parent[named.back()] = Json(parent[place.back()]);
      }
  }
}

Json job_from(const std::uint8_t* data, std::size_t size) {
  if (size > 0 && data[0] == '{') {
    const auto parsed =
        kube::parse_json(std::string_view(reinterpret_cast<const char*>(data), size), 100);
    return parsed ? *parsed : Json();
  }
  static const Json kRows = corpus_rows("right.json");
  Json job = corpus_job(kRows[size > 0 ? data[0] % kRows.size() : 0]);
  for (std::size_t at = 1; at + 6 <= size && at < 50; at += 6) change(job, data + at);
  return job;
}

}  // namespace
}  // namespace nervex::testing

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace nervex::testing;  // NOLINT: the one function
  const auto check = job_check();
  const nervex::Json job = job_from(data, size);
  const bool accepted = check->accepts(job);
  const auto errors = check->explain(job);
  require(!accepted || errors.empty(), "accepted, but " + to_string(errors));
  return 0;
}
