// job/schema/schema_tree.h - which schema describes this part of a value, and what is its path?
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "kube/model/json.h"

namespace nervex::job {

// Longer keys are cut in paths. Kubernetes' own keys have at most 317 characters: a label's prefix
// and name.
inline constexpr std::size_t kMaxKeyLength = 320;

// Prefix of references to other schemas.
inline constexpr std::string_view kDefinitions = "#/definitions/";

// A place in a value, with its schema. Borrows the schema.
struct SchemaPlace {
  const Json* schema = nullptr;  // without $ref; nullptr: no schema for this part
  std::string path;              // spec.containers[0].resources.limits[nvidia.com/gpu]
};

// Navigates one schema in the dialect of job/schema/job_schema.h. Borrows it. Thread-safe.
class SchemaTree {
 public:
  explicit SchemaTree(const Json& schema) : root_(schema) {}

  SchemaPlace root() const { return {resolve(root_), ""}; }
  // Fields are named with a dot, keys of maps in brackets.
  SchemaPlace member(const SchemaPlace& place, const std::string& key) const;
  SchemaPlace item(const SchemaPlace& place, std::size_t index) const;

 private:
  const Json* resolve(const Json& schema) const;

  const Json& root_;
};

// Objects here may have only fields that the schema names.
bool is_closed(const Json& schema);

}  // namespace nervex::job
