// job/schema/schema_check.h - does an object keep to its schema? The one door to valijson.
#pragma once

#include <memory>

#include "base/error.h"
#include "job/field_error.h"
#include "kube/model/json.h"

namespace nervex::job {

// Values that a report names at most: valijson keeps more than 1 kB per error and cannot be
// stopped.
inline constexpr std::size_t kMaxReportedValues = 10'000;

// One schema, made ready. Thread-safe.
class SchemaCheck {
 public:
  // `schema` in the dialect of job/schema/job_schema.h. kInvalid if valijson cannot use it.
  static Result<std::shared_ptr<const SchemaCheck>> compile(Json schema);
  ~SchemaCheck();
  SchemaCheck(const SchemaCheck&) = delete;
  SchemaCheck& operator=(const SchemaCheck&) = delete;

  // Everything that is wrong, the deepest error of each path, with null members as if they were
  // absent. Of a document with more than kMaxReportedValues only the first ones are named.
  FieldErrors errors_of(const Json& object) const;

  // The two halves of it, which tests hold against each other. True: right; false: do not know.
  bool accepts(const Json& object) const;
  // Cost: about 50 µs per kB, most of it valijson's.
  FieldErrors explain(const Json& object) const;

 private:
  struct Compiled;
  explicit SchemaCheck(std::unique_ptr<Compiled> compiled);

  std::unique_ptr<Compiled> compiled_;
};

}  // namespace nervex::job
