// Amounts that are no container's request or limit, and huge pages and claims that are.
#include <algorithm>

#include <fmt/format.h>

#include "job/template/rules.h"
#include "job/template/syntax.h"
#include "kube/model/quantity.h"

namespace nervex::job::pod_template {
namespace {

constexpr std::string_view kHugePages = "hugepages-";

std::string text_of(const Place& quantity) {
  return quantity.value().is_number() ? kube::to_text(quantity.value()) : quantity.text();
}

// Amounts of huge pages are whole pages: hugepages-2Mi comes by 2Mi.
void check_pages(const Place& list, bool& has_pages, bool& has_compute) {
  list.each_entry([&](const std::string& resource, const Place& amount) {
    has_compute = has_compute || resource == "cpu" || resource == "memory";
    if (!resource.starts_with(kHugePages)) return;
    has_pages = true;
    const auto size = kube::parse_quantity(std::string_view(resource).substr(kHugePages.size()),
                                           kube::Scale::kOne);
    const auto bytes = kube::parse_quantity(text_of(amount), kube::Scale::kOne);
    if (!bytes || *bytes < 0 || !kube::is_whole(text_of(amount)))
      return;  // told where all amounts are checked
    if (!size || *size <= 0 || *bytes == 0 || *bytes % *size != 0) {
      amount.invalid(amount.value(), fmt::format("{} is not positive integer multiple of {}",
                                                 text_of(amount), resource));
    }
  });
}

}  // namespace

std::string similar_quantity(std::string_view text) {
  // Bytes as other programs write them, and spaces: 4GB, 512 MiB, 4g, 4gi.
  constexpr std::string_view kDigits = "0123456789.";
  const auto end = std::min(text.find_first_not_of(kDigits), text.size());
  const std::string number(text.substr(0, end));
  std::string unit;
  for (const char c : text.substr(end)) {
    if (c != ' ') unit += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  }
  if (unit.size() > 1 && unit.ends_with('B')) unit.pop_back();
  const bool binary = unit.size() == 2 && unit.back() == 'I';
  if (number.empty() || unit.empty() || unit.size() > 2 || (unit.size() == 2 && !binary) ||
      std::string_view("KMGTPE").find(unit.front()) == std::string_view::npos) {
    return "";
  }
  const std::string decimal = number + (unit.front() == 'K' ? 'k' : unit.front());
  const std::string power = number + unit.front() + 'i';
  if (!kube::parse_quantity(power, kube::Scale::kOne)) return "";
  return binary ? fmt::format(": did you mean {}?", power)
                : fmt::format(": did you mean {} or {}?", decimal, power);
}

void check_quantity(const Place& quantity) {
  const std::string text = text_of(quantity);
  if (text.empty() && !quantity.value().is_string()) return;
  const auto amount = kube::parse_quantity(text, kube::Scale::kOne);
  if (!amount) {
    quantity.invalid("must be a quantity such as 500m, 2 or 4Gi, and below 8Ei" +
                     similar_quantity(text));
  } else if (*amount < 0) {
    quantity.invalid("must be greater than or equal to 0");
  }
}

void check_huge_pages(const Place& container, const Facts&) {
  const Place resources = container.at("resources");
  bool has_pages = false;
  bool has_compute = false;
  for (const auto field : {"limits", "requests"}) {
    const Place list = resources.at(field);
    check_pages(list, has_pages, has_compute);
  }
  if (has_pages && !has_compute) resources.forbidden("HugePages require cpu or memory");
}

void check_claims(const Place& container, const Facts& facts) {
  const Place resources = container.at("resources");
  const Place claims = resources.at("claims");
  std::set<std::string, std::less<>> seen;
  claims.each_item([&](const Place& claim) {
    const std::string name = kube::string_at(claim.value(), {"name"});
    const std::string request = kube::string_at(claim.value(), {"request"});
    if (!claim.is_object()) return;
    if (name.empty()) return claim.required();
    const std::string key = request.empty() ? name : name + "/" + request;
    if (!seen.insert(key).second) return claim.duplicate(key);
    if (!facts.claims.contains(name))
      claim.not_found(name, "must be one of the names in spec.resourceClaims");
  });
}

// People copy it from a running pod. Without a class the admission plugin RuntimeClass refuses
// every pod that has it; whether it is that of a class only the cluster knows.
void check_overhead(const Place& spec, const Facts&) {
  const Place overhead = spec.at("overhead");
  const Place runtime_class = spec.at("runtimeClassName");
  if (overhead.is_object() && !overhead.value().empty() && runtime_class.text().empty()) {
    return overhead.forbidden(
        "is filled in by the cluster from the RuntimeClass, and there is no `runtimeClassName`: "
        "leave it out");
  }
  overhead.each_entry([](const std::string&, const Place& amount) { check_quantity(amount); });
}

}  // namespace nervex::job::pod_template
