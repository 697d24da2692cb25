#include "kube/model/shared.h"

namespace nervex::kube {
namespace {

template <typename Entries>
auto find_entry(Entries& entries, std::string_view key) {
  return std::lower_bound(
      entries.begin(), entries.end(), key,
      [](const StringMap::Entry& entry, std::string_view k) { return entry.first < k; });
}

}  // namespace

StringMap::StringMap(std::initializer_list<std::pair<std::string_view, std::string_view>> entries) {
  for (const auto& [key, text] : entries) emplace(key, text);
}

auto StringMap::find(std::string_view key) const -> const_iterator {
  const auto& entries = entries_.items();
  const auto at = find_entry(entries, key);
  return at != entries.end() && at->first == key ? at : entries.end();
}

SharedString& StringMap::operator[](std::string_view key) {
  auto& entries = entries_.edit();
  const auto at = find_entry(entries, key);
  if (at != entries.end() && at->first == key) return at->second;
  return entries.insert(at, Entry{key, {}})->second;
}

void StringMap::emplace(SharedString key, SharedString text) {
  auto& entries = entries_.edit();
  const auto at = find_entry(entries, key);
  if (at != entries.end() && at->first == key) return;
  entries.insert(at, Entry{std::move(key), std::move(text)});
}

}  // namespace nervex::kube
