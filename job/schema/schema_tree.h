// job/schema/schema_tree.h - which schema describes this part of a value, and what is the part's
// path?
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "kube/model/json.h"

namespace nervex::job {

// Longer keys are cut in paths. Kubernetes' own have 317 characters at most: a label's prefix and
// name.
inline constexpr std::size_t kMaxKeyLength = 320;

// What references to other schemas begin with.
inline constexpr std::string_view kDefinitions = "#/definitions/";

// A place in a value, seen through its schema. Borrows the schema.
struct SchemaPlace {
  const Json* schema = nullptr;  // without $ref; nullptr: nothing is said about this part
  std::string path;              // spec.containers[0].resources.limits[nvidia.com/gpu]
};

// Finds its way through one schema in the dialect of job/schema/job_schema.h. Borrows it.
// Thread-safe.
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

// Objects here may have only the fields that the schema names.
bool is_closed(const Json& schema);

}  // namespace nervex::job
