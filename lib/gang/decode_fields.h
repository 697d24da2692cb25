// gang/decode_fields.h - how are single fields of a PodGroup read? For the decoders of its spec and
// its status. An error is kInvalid and names the field: `where` is the path of its object.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "gang/pod_group.h"

namespace nervex::gang {

Error invalid_field(const std::string& where, std::string_view what);

// An absent field keeps `value`.
Result<Nothing> read_int(const Json& from, std::string_view field, const std::string& where,
                         int low, int& value);
Result<Nothing> read_int64(const Json& from, std::string_view field, const std::string& where,
                           std::int64_t& value);
// A number of slots: at most kMostSlots.
Result<Nothing> read_slot_count(const Json& from, std::string_view field, const std::string& where,
                                int& value);
Result<std::string> required_text(const Json& from, std::string_view field,
                                  const std::string& where);
// Absent or empty text is the epoch.
Result<SysTime> read_time(const Json& from, std::string_view field, const std::string& where);

// `count` neighbours of one incarnation.
struct SlotRun {
  SlotId first;
  int count = 1;
};
Result<SlotRun> decode_slot_run(const Json& from, const std::string& where);

// The field avoid, which spec and status have. Absent: empty.
Result<Nothing> read_avoided(const Json& from, const std::string& where,
                             std::vector<AvoidedNode>& avoid);

}  // namespace nervex::gang
