#include "cli/validate/judge_queue.h"

#include <fmt/format.h>

#include "queue/queue.h"

namespace nervex::cli {
namespace {

// Of "spec.weight: must be ..." and "spec.limit[0].resources: cpu: must be ...".
job::FieldError read_words(const std::string& unreadable) {
  const auto end = unreadable.find(": ");
  if (end == std::string::npos) return {job::FieldErrorType::kInvalid, "spec", "", "", unreadable};
  std::string field = unreadable.substr(0, end);
  std::string words = unreadable.substr(end + 2);
  if (const auto name = words.find(": "); field.ends_with(".resources") && name != words.npos) {
    field += fmt::format("[{}]", words.substr(0, name));
    words.erase(0, name + 2);
  }
  return {job::FieldErrorType::kInvalid, std::move(field), "", "", "Invalid value: " + words};
}

}  // namespace

job::FieldErrors queue_errors(const Json& object, const job::SchemaCheck& schema) {
  job::FieldErrors errors = schema.find_errors(object);
  const auto queue = queue::decode_queue(object);  // its name is checked as metadata
  if (errors.empty() && queue && !queue->unreadable.empty()) {
    errors.push_back(read_words(queue->unreadable));
  }
  const std::string parent = kube::string_at(object, {"spec", "parent"});
  if (!parent.empty() && parent == kube::string_at(object, {"metadata", "name"})) {
    errors.push_back({job::FieldErrorType::kInvalid, "spec.parent", job::shown_value(parent),
                      "a queue is not its own parent"});
  }
  return errors;
}

}  // namespace nervex::cli
