#include "server/fields.h"

#include <fmt/format.h>

#include <limits>

namespace nervex::server {
namespace {

constexpr std::size_t kMaxQuantityLength = 64;  // as the CRD has it

Error invalid(std::string_view path, std::string_view what) {
  return {Code::kInvalid, fmt::format("{}: {}", path, what)};
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const auto first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

}  // namespace

std::string lower(std::string_view text) {
  std::string low(text);
  for (char& c : low) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return low;
}

const Json* field(const Json& object, std::string_view key) {
  const Json* folded = nullptr;
  for (const auto& [name, value] : object.items()) {
    if (name == key) return value.is_null() ? nullptr : &value;
    if (folded == nullptr && !value.is_null() && lower(name) == key) folded = &value;
  }
  return folded;
}

Result<std::string> text_field(const Json& object, std::string_view key) {
  const Json* value = field(object, key);
  if (value == nullptr) return std::string{};
  if (!value->is_string()) return invalid(key, "must be a string");
  return value->get<std::string>();
}

Result<int> count_field(const Json& object, std::string_view key, std::string_view path, int most) {
  const Json* value = field(object, key);
  if (value == nullptr) return 0;
  if (!value->is_number_integer()) return invalid(path, "must be an integer");
  // An integer above int64's range is kept as unsigned, one below is refused by the parser.
  const bool fits = !value->is_number_unsigned() ||
                    value->get<std::uint64_t>() <= static_cast<std::uint64_t>(most);
  if (!fits || value->get<std::int64_t>() < 0 || value->get<std::int64_t>() > most) {
    return invalid(path, fmt::format("must be between 0 and {}", most));
  }
  return value->get<int>();
}

Result<std::string> quantity_field(const Json& object, std::string_view key, std::string_view path,
                                   kube::Scale scale) {
  const Json* value = field(object, key);
  if (value == nullptr) return std::string{};
  if (!value->is_string() && !value->is_number()) {
    return invalid(path, "must be a quantity, as a string or a number");
  }
  const std::string raw = value->is_string() ? value->get<std::string>() : value->dump();
  const std::string text(trim(raw));
  if (text.size() > kMaxQuantityLength) return invalid(path, "is longer than any quantity");
  const auto amount = kube::parse_quantity(text, scale);
  if (!amount) return invalid(path, amount.error().message);
  if (*amount < 0) return invalid(path, fmt::format("must not be negative: {}", text));
  return *amount == 0 ? std::string{} : text;
}

}  // namespace nervex::server
