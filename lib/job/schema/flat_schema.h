// job/schema/flat_schema.h - is this object valid? A fast first check.
//
// Most objects are valid, and saying so needs no messages. So the schema is compiled once into a
// flat table: references resolved, names sorted, required fields counted. One walk over the object
// then answers "valid" or "unknown". For unknown, SchemaCheck finds the errors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "kube/model/json.h"

namespace nervex::job {

// One compiled schema. Immutable, so thread-safe.
class FlatSchema {
 public:
  // `schema` in the dialect of job/schema/job_schema.h. Parts with other keywords accept nothing.
  explicit FlatSchema(const Json& schema);

  // True only if SchemaCheck finds no error. Allocates nothing.
  bool accepts(const Json& object) const { return accepts(object, kRoot); }

 private:
  using Index = std::uint32_t;  // of a node
  static constexpr Index kRoot = 0;
  static constexpr Index kAnything = UINT32_MAX;  // no restriction on this part

  struct Field {
    std::string name;
    Index node = kAnything;
    bool is_required = false;
  };

  struct Node {
    bool is_known = true;    // false: uses unsupported keywords
    bool is_closed = false;  // no other fields than `fields`
    std::uint8_t types = 0;  // bits; 0: any
    std::size_t required = 0;
    std::vector<Field> fields;  // by is_before()
    Index others = kAnything;   // for fields that are not in `fields`
    Index items = kAnything;
    std::vector<std::string> allowed;  // strings; empty: any
    std::optional<double> minimum;
    std::optional<double> maximum;
    std::optional<std::size_t> min_size;  // items or characters
    std::optional<std::size_t> max_size;
    bool is_int32 = false;
  };

  using Definitions = std::unordered_map<std::string, Index>;  // compiled definitions, by name
  Index add(const Json& schema, const Json& root, Definitions& made);
  Index add_reference(const std::string& reference, const Json& root, Definitions& made);
  void read(Node& node, const std::string& keyword, const Json& value, const Json& root,
            Definitions& made);

  bool accepts(const Json& value, Index index) const;
  bool accepts_object(const Json& value, const Node& node) const;
  bool accepts_array(const Json& value, const Node& node) const;

  std::vector<Node> nodes_;
};

}  // namespace nervex::job
