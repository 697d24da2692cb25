#include "job/fields.h"

#include <fmt/format.h>

#include <utility>

namespace nervex::job {
namespace {

const Json& empty_object() {
  static const Json kEmpty = Json::object();
  return kEmpty;
}

}  // namespace

Fields::Fields(const Json& object, std::string path, std::optional<Error>& error)
    : object_(object), path_(std::move(path)), error_(error) {}

const Json* Fields::value(std::string_view name) const { return kube::find(object_, {name}); }

std::string Fields::path_of(std::string_view name) const {
  return path_.empty() ? std::string(name) : fmt::format("{}.{}", path_, name);
}

bool Fields::has(std::string_view name) const { return value(name) != nullptr; }

void Fields::refuse(std::string_view name, std::string_view why) {
  if (!error_) error_ = Error{Code::kInvalid, fmt::format("{}: {}", path_of(name), why)};
}

std::string Fields::text(std::string_view name) {
  const Json* at = value(name);
  if (at == nullptr) return "";
  if (at->is_string()) return at->get<std::string>();
  refuse(name, "must be a string");
  return "";
}

bool Fields::boolean(std::string_view name) {
  const Json* at = value(name);
  if (at == nullptr) return false;
  if (at->is_boolean()) return at->get<bool>();
  refuse(name, "must be true or false");
  return false;
}

std::int64_t Fields::integer(std::string_view name, std::int64_t otherwise, std::int64_t min,
                             std::int64_t max) {
  if (!has(name)) return otherwise;
  const std::int64_t low = kube::int_at(object_, {name}, min - 1);
  if (low >= min && low <= max) return low;
  refuse(name, fmt::format("must be an integer between {} and {}", min, max));
  return otherwise;
}

int Fields::small_integer(std::string_view name, int otherwise, int max) {
  return static_cast<int>(integer(name, otherwise, 0, max));
}

std::optional<SysTime> Fields::time(std::string_view name) {
  if (!has(name)) return std::nullopt;
  const auto parsed = parse_rfc3339(text(name));
  if (parsed) return *parsed;
  refuse(name, "must be a time as in RFC 3339");
  return std::nullopt;
}

Json Fields::raw(std::string_view name, Json::value_t type) {
  const Json* at = value(name);
  if (at == nullptr) return Json(type);
  if (at->type() == type) return *at;
  refuse(name, type == Json::value_t::array ? "must be a list" : "must be an object");
  return Json(type);
}

Fields Fields::object(std::string_view name) {
  const Json* at = value(name);
  if (at != nullptr && !at->is_object()) {
    refuse(name, "must be an object");
    at = nullptr;
  }
  return Fields(at == nullptr ? empty_object() : *at, path_of(name), error_);
}

void Fields::each(std::string_view name, const std::function<void(Fields)>& read) {
  const Json* at = value(name);
  if (at == nullptr) return;
  if (!at->is_array()) return refuse(name, "must be a list");
  for (std::size_t i = 0; i < at->size(); ++i) {
    const std::string item = fmt::format("{}[{}]", name, i);
    if (!(*at)[i].is_object()) return refuse(item, "must be an object");
    read(Fields((*at)[i], path_of(item), error_));
  }
}

}  // namespace nervex::job
