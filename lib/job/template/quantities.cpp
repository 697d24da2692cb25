// Quantities other than a container's requests and limits; also huge pages and claims.
#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>

#include "base/text.h"
#include "job/template/rules.h"
#include "job/template/syntax.h"
#include "kube/model/quantity.h"
#include "kube/model/resources.h"

namespace nervex::job::pod_template {
namespace {

constexpr std::string_view kHugePages = "hugepages-";

// Huge pages come in whole pages: hugepages-2Mi is a multiple of 2Mi.
void check_pages(const Place& list, bool& has_pages, bool& has_compute) {
  list.each_entry([&](const std::string& resource, const Place& amount) {
    has_compute = has_compute || resource == "cpu" || resource == "memory";
    if (!resource.starts_with(kHugePages)) return;
    has_pages = true;
    const auto page = std::string_view(resource).substr(kHugePages.size());
    const auto size = kube::parse_quantity(page, kube::Scale::kOne);
    const auto bytes = kube::parse_quantity(amount_text(amount), kube::Scale::kOne);
    const bool is_name = label_key_problem(resource).empty();
    if (!is_name || !bytes || *bytes < 0) return;  // reported by the check of all amounts
    if (!size || *size <= 0 || !kube::is_whole(page) || *bytes % *size != 0) {
      amount.invalid(amount.value(), fmt::format("{} is not positive integer multiple of {}",
                                                 amount_text(amount), resource));
    }
  });
}

void check_huge_page_request(const Place& resources) {
  bool has_pages = false;
  bool has_compute = false;
  for (const auto field : {"limits", "requests"}) {
    const Place list = resources.at(field);
    check_pages(list, has_pages, has_compute);
  }
  if (has_pages && !has_compute) resources.forbidden("HugePages require cpu or memory");
}

// "100mb", "100 milli": 100m. "2 cores", "2vCPU": 2.
std::string similar_cpu(const std::string& number, std::string_view unit) {
  constexpr std::array<std::string_view, 4> kWhole{"c", "cpu", "core", "vcpu"};
  if (unit.ends_with('s')) unit.remove_suffix(1);
  if (std::find(kWhole.begin(), kWhole.end(), unit) != kWhole.end()) return number;
  return unit.starts_with('m') ? number + 'm' : "";
}

// Bytes as other programs write them: 4GB, 512 MiB, 4g, 4gi.
std::string similar_bytes(const std::string& number, std::string unit) {
  if (unit.size() > 1 && unit.ends_with('b')) unit.pop_back();
  const bool binary = unit.size() == 2 && unit.back() == 'i';
  constexpr std::string_view kUnits = "kmgtpe";
  if ((unit.size() != 1 && !binary) || kUnits.find(unit.front()) == kUnits.npos) return "";
  const char letter = static_cast<char>(unit.front() - 'a' + 'A');
  std::string power = fmt::format("{}{}i", number, letter);
  if (binary) return power;
  return fmt::format("{}{} or {}", number, letter == 'K' ? 'k' : letter, power);
}

}  // namespace

std::string similar_quantity(std::string_view text, std::string_view resource) {
  constexpr std::string_view kDigits = "0123456789.";
  const auto end = std::min(text.find_first_not_of(kDigits), text.size());
  const std::string number(text.substr(0, end));
  std::string unit = to_lower(text.substr(end));
  unit.erase(std::remove(unit.begin(), unit.end(), ' '), unit.end());
  if (unit.empty() || !kube::parse_quantity(number, kube::Scale::kOne)) return "";
  return resource == "cpu" ? similar_cpu(number, unit) : similar_bytes(number, unit);
}

std::string similar_device(std::string_view resource) {
  std::string name = to_lower(resource);
  if (name.ends_with("gpus")) name.pop_back();
  if (name == "nvidia.com/gpu" || name == "amd.com/gpu") return name == resource ? "" : name;
  const auto says = [&](std::string_view word) { return name.find(word) != name.npos; };
  if (!says("gpu") || name.substr(0, name.find('/')).find('.') != name.npos) return "";
  return says("amd") ? "amd.com/gpu" : "nvidia.com/gpu";
}

std::string amount_text(const Place& quantity) {
  return quantity.value().is_number() ? kube::to_text(quantity.value()) : quantity.text();
}

std::optional<std::int64_t> parse_amount(const Place& quantity, std::string_view resource) {
  const std::string text = amount_text(quantity);
  if (text.empty()) return std::nullopt;
  const auto scale = resource == "cpu" ? kube::Scale::kMilli : kube::Scale::kOne;
  const auto parsed = kube::parse_quantity(text, scale);
  return parsed ? std::optional(*parsed) : std::nullopt;
}

std::string quantity_problem(std::string_view text, std::string_view resource) {
  const auto amount = kube::parse_quantity(text, kube::Scale::kOne);
  if (!amount) {
    const std::string guess = similar_quantity(text, resource);
    return "must be a quantity such as 500m, 2 or 4Gi" +
           (guess.empty() ? "" : fmt::format(": did you mean {}?", guess));
  }
  return *amount < 0 ? "must be greater than or equal to 0" : "";
}

void check_quantity(const Place& quantity) {
  const std::string text = amount_text(quantity);
  if (text.empty() && !quantity.value().is_string()) return;
  quantity.must_be(quantity_problem(text, ""));
}

void check_huge_pages(const Place& container, const Facts&) {
  const Place resources = container.at("resources");
  check_huge_page_request(resources);
}

void check_claims(const Place& container, const Facts& facts) {
  const Place resources = container.at("resources");
  const Place claims = resources.at("claims");
  std::set<std::string, std::less<>> seen;
  claims.each_item([&](const Place& claim) {
    const std::string name = kube::string_at(claim.value(), {"name"});
    const Place request = claim.at("request");
    if (!claim.is_object()) return;
    if (name.empty()) return claim.required();
    if (!request.text().empty()) request.must_be(dns_label_problem(request.text()));
    const std::string key = request.text().empty() ? name : name + "/" + request.text();
    const auto part = seen.lower_bound(name + "/");  // a request of this claim, named before
    const bool overlaps = request.text().empty() && part != seen.end() &&
                          std::string_view(*part).starts_with(name + "/");
    if (overlaps || seen.contains(name) || !seen.insert(key).second) return claim.duplicate(key);
    if (!facts.claims.contains(name))
      claim.not_found(name, "must be one of the names in spec.resourceClaims");
  });
}

// ---- the pod as a whole

namespace {

struct PodLevel {
  const Place& requests;
  const Place& limits;
  std::set<std::string, std::less<>> exceeded{};  // limits that a single container exceeds
};

std::optional<std::int64_t> amount_at(const Place& list, std::string_view resource) {
  const Place amount = list.entry(resource);
  return parse_amount(amount, resource);
}

// `total`: the sum over containers, which is the pod's request unless the pod states one.
void check_total(const PodLevel& pod, const std::string& resource, std::int64_t total) {
  const bool is_huge = resource.starts_with(kHugePages);
  const auto request = amount_at(pod.requests, resource);
  const auto limit = amount_at(pod.limits, resource);
  const std::string amount = kube::format_amount(resource, total);
  if (request) {
    if (total <= *request) return;
    const Place place = pod.requests.entry(resource);
    place.invalid(
        fmt::format("must be greater than or equal to aggregate container requests of {}", amount));
  } else if (limit && total > *limit && (is_huge || !pod.exceeded.contains(resource))) {
    const Place place = pod.limits.entry(resource);
    place.invalid(fmt::format("must be greater than or equal to aggregate container {} of {}",
                              is_huge ? "limits" : "requests", amount));
  }
}

// `place`: the container's path below spec.resources, which the API server reports.
void check_container_limits(const Place& container, const Place& place, PodLevel& pod) {
  const Place resources = container.at("resources");
  const Place limits = resources.at("limits");
  limits.each_entry([&](const std::string& resource, const Place& limit) {
    const auto most = amount_at(pod.limits, resource);
    const auto wanted = parse_amount(limit, resource);
    if (!most || !wanted || *wanted <= *most) return;
    pod.exceeded.insert(resource);
    const Place pod_limit = pod.limits.entry(resource);
    const Place told = place.entry(resource);
    told.at("limits").invalid(
        limit.value(),
        fmt::format("must be less than or equal to pod limits of {}", amount_text(pod_limit)));
  });
}

}  // namespace

void check_pod_resources(const Place& spec, const Facts& facts) {
  const Place resources = spec.at("resources");
  if (!resources.is_object()) return;
  if (facts.os == "windows") return resources.forbidden("may not be set for a windows pod");
  const Place claims = resources.at("claims");
  if (claims.is_there()) claims.forbidden("claims may not be set for Resources at pod-level");
  check_huge_page_request(resources);
  const Place requests = resources.at("requests");
  const Place limits = resources.at("limits");
  const Place containers = spec.at("containers");
  const Place init_containers = spec.at("initContainers");
  // Without this part of the spec, which would replace the sum.
  const Json parts = {{"containers", containers.value()},
                      {"initContainers", init_containers.value()}};
  PodLevel pod{requests, limits};
  const Place told(containers.value(), "containers", resources);
  for (std::size_t i = 0; i < containers.size() && !resources.is_full(); ++i) {
    const Place container = containers.item(i);
    const Place told_container = told.item(i);
    check_container_limits(container, told_container, pod);
  }
  const kube::Resources totals = kube::pod_requests(parts);
  for (const auto& [resource, total] : totals.amounts()) check_total(pod, resource, total);
}

// People copy it from a running pod. Without a class, the admission plugin RuntimeClass refuses
// every pod that has it. Whether it matches a class only the cluster knows.
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
