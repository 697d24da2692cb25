// Names of containers and volumes.
#include "job/template/rules.h"

#include <algorithm>

namespace nervex::job::pod_template {
namespace {

// RFC 1123
bool is_dns_label(std::string_view name) {
  const auto alphanumeric = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  const auto allowed = [&](char c) { return alphanumeric(c) || c == '-'; };
  return !name.empty() && name.size() <= 63 && std::all_of(name.begin(), name.end(), allowed) &&
         alphanumeric(name.front()) && alphanumeric(name.back());
}

}  // namespace

void check_item_name(const Place& item, Names& seen) {
  if (!item.is_object()) return;
  const Place name = item.at("name");
  if (!name.is_there()) return name.required();
  if (!name.value().is_string()) return;
  if (!is_dns_label(name.text())) {
    name.invalid(
        "must be at most 63 lower-case letters, digits or '-', with a letter or digit at both "
        "ends");
  } else if (!seen.insert(name.text()).second) {
    name.duplicate();
  }
}

}  // namespace nervex::job::pod_template
