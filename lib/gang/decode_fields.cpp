#include "gang/decode_fields.h"

#include <fmt/format.h>

#include <limits>

namespace nervex::gang {
namespace {

Result<Nothing> read_integer(const Json& from, std::string_view field, const std::string& where,
                             std::int64_t low, std::int64_t high, std::int64_t& value) {
  const Json* found = kube::find(from, {field});
  if (found == nullptr) return ok();
  const bool negative_or_small = found->is_number_integer() && !found->is_number_unsigned();
  const bool fits =
      negative_or_small || (found->is_number_unsigned() &&
                            found->get<std::uint64_t>() <= static_cast<std::uint64_t>(high));
  if (!fits || found->get<std::int64_t>() < low || found->get<std::int64_t>() > high) {
    return invalid_field(fmt::format("{}.{}", where, field),
                         fmt::format("must be an integer from {} to {}", low, high));
  }
  value = found->get<std::int64_t>();
  return ok();
}

}  // namespace

Error invalid_field(const std::string& where, std::string_view what) {
  return Error{Code::kInvalid, fmt::format("{}: {}", where, what)};
}

Result<Nothing> read_int(const Json& from, std::string_view field, const std::string& where,
                         int low, int& value) {
  std::int64_t wide = value;
  auto read = read_integer(from, field, where, low, std::numeric_limits<int>::max(), wide);
  if (read) value = static_cast<int>(wide);
  return read;
}

Result<Nothing> read_int64(const Json& from, std::string_view field, const std::string& where,
                           std::int64_t& value) {
  return read_integer(from, field, where, 0, std::numeric_limits<std::int64_t>::max(), value);
}

Result<Nothing> read_slot_count(const Json& from, std::string_view field, const std::string& where,
                                int& value) {
  std::int64_t wide = value;
  auto read = read_integer(from, field, where, 0, kMostSlots, wide);
  if (read) value = static_cast<int>(wide);
  return read;
}

Result<std::string> required_text(const Json& from, std::string_view field,
                                  const std::string& where) {
  std::string text = kube::string_at(from, {field});
  if (text.empty())
    return invalid_field(fmt::format("{}.{}", where, field), "must be a non-empty string");
  return text;
}

Result<SysTime> read_time(const Json& from, std::string_view field, const std::string& where) {
  const std::string text = kube::string_at(from, {field});
  if (text.empty()) return SysTime{};
  auto time = parse_rfc3339(text);
  if (!time) return with_context(fmt::format("{}.{}", where, field), time.error());
  return time;
}

Result<SlotRun> decode_slot_run(const Json& from, const std::string& where) {
  SlotRun run;
  if (!from.is_object()) return invalid_field(where, "must be an object");
  if (kube::find(from, {"ordinal"}) == nullptr)
    return invalid_field(where + ".ordinal", "is required");
  if (auto read = read_int(from, "ordinal", where, 0, run.first.ordinal); !read) {
    return read.error();
  }
  if (auto read = read_int(from, "incarnation", where, 0, run.first.incarnation); !read) {
    return read.error();
  }
  if (auto read = read_int(from, "count", where, 1, run.count); !read) {
    return read.error();
  }
  if (run.count > kMostSlots || run.first.ordinal > std::numeric_limits<int>::max() - run.count) {
    return invalid_field(where + ".count", "names more slots than there are ordinals");
  }
  return run;
}

namespace {

Result<AvoidedNode> decode_avoided(const Json& from, const std::string& where) {
  AvoidedNode avoided;
  auto set = required_text(from, "set", where);
  if (!set) return set.error();
  auto node = required_text(from, "node", where);
  if (!node) return node.error();
  if (auto read = read_int(from, "atMost", where, 0, avoided.at_most); !read) return read.error();
  if (auto read = read_int(from, "times", where, 1, avoided.times); !read) return read.error();
  auto until = read_time(from, "until", where);
  if (!until) return until.error();
  avoided.set = *std::move(set);
  avoided.node = *std::move(node);
  avoided.until = *until;
  return avoided;
}

}  // namespace

Result<Nothing> read_avoided(const Json& from, const std::string& where,
                             std::vector<AvoidedNode>& avoid) {
  for (const Json& entry : kube::array_at(from, {"avoid"})) {
    auto avoided = decode_avoided(entry, fmt::format("{}.avoid[{}]", where, avoid.size()));
    if (!avoided) return avoided.error();
    avoid.push_back(*std::move(avoided));
  }
  return ok();
}

}  // namespace nervex::gang
