// job/fields.h - what stands in this field, and which field is the first that is wrong?
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/error.h"
#include "kube/model/json.h"

namespace nervex::job {

// Reads the fields of one JSON object. An absent or null field is its default; one of a wrong type
// is its default too, and the first such field of the whole document is kept in `error`, which must
// outlive the reader, as must the JSON. Not thread-safe.
class Fields {
 public:
  Fields(const Json& object, std::string path, std::optional<Error>& error);

  std::string text(std::string_view name);
  bool boolean(std::string_view name);
  std::int64_t integer(std::string_view name, std::int64_t otherwise, std::int64_t min = 0,
                       std::int64_t max = std::numeric_limits<std::int64_t>::max());
  int small_integer(std::string_view name, int otherwise, int max = 1'000'000'000);
  std::optional<SysTime> time(std::string_view name);
  // The value as it is, if it has that type; else an empty one of it.
  Json raw(std::string_view name, Json::value_t type);

  bool has(std::string_view name) const;
  Fields object(std::string_view name);  // reads as empty if absent
  // Each item of an array of objects, in order.
  void each(std::string_view name, const std::function<void(Fields)>& read);
  // Reports that this field is wrong in a way that its type does not tell.
  void refuse(std::string_view name, std::string_view why);

 private:
  const Json* value(std::string_view name) const;
  std::string path_of(std::string_view name) const;

  const Json& object_;
  const std::string path_;
  std::optional<Error>& error_;
};

}  // namespace nervex::job
