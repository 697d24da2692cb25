// job/schema/schema_check.h - does an object match its schema? The only user of valijson.
#pragma once

#include <memory>

#include "base/error.h"
#include "job/field_error.h"
#include "kube/model/json.h"

namespace nervex::job {

// Limit on the values named in a report: valijson keeps more than 1 kB per error and cannot be
// stopped.
inline constexpr std::size_t kMaxReportedValues = 10'000;

// One compiled schema. Thread-safe.
class SchemaCheck {
 public:
  // `schema` in the dialect of job/schema/job_schema.h. kInvalid if valijson cannot use it.
  static Result<std::shared_ptr<const SchemaCheck>> compile(Json schema);
  ~SchemaCheck();
  SchemaCheck(const SchemaCheck&) = delete;
  SchemaCheck& operator=(const SchemaCheck&) = delete;

  // All errors, the deepest of each path; null members count as absent. For a document with more
  // than kMaxReportedValues values, only errors in the first ones are reported.
  FieldErrors find_errors(const Json& object) const;

  // The two parts of find_errors(), which tests compare. True: valid; false: unknown.
  bool accepts(const Json& object) const;
  // Cost: about 50 µs per kB, mostly in valijson.
  FieldErrors explain(const Json& object) const;

 private:
  struct Compiled;
  explicit SchemaCheck(std::unique_ptr<Compiled> compiled);

  std::unique_ptr<Compiled> compiled_;
};

}  // namespace nervex::job
