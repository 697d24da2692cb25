#include "server/http/request.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/text.h"
#include "kube/model/json.h"
#include "kube/model/quantity.h"
#include "server/decide/gpu_split.h"
#include "server/http/request_body.h"

namespace nervex::server {
namespace {

constexpr std::size_t kMaxNameLength = 253;     // of any Kubernetes object
constexpr std::size_t kMaxUrlLength = 512;      // "<pod>.<namespace>:<port>"
constexpr std::size_t kMaxKeyLength = 255;      // as in the CRD
constexpr std::size_t kMaxQuantityLength = 64;  // as in the CRD

Error invalid(std::string message) { return {Code::kInvalid, std::move(message)}; }

Error invalid(std::string_view path, std::string_view what) {
  return {Code::kInvalid, fmt::format("{}: {}", path, what)};
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const auto first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

// The member called `key`; nullptr if absent or null.
const Json* field(const Json& object, std::string_view key) {
  const Json* value = kube::member(object, key);
  return value == nullptr || value->is_null() ? nullptr : value;
}

// "" if absent.
Result<std::string> text_field(const Json& object, std::string_view key) {
  const Json* value = field(object, key);
  if (value == nullptr) return std::string{};
  if (!value->is_string()) return invalid(key, "must be a string");
  return value->get<std::string>();
}

// 0 if absent. Fails for anything but a JSON integer in 0..most, such as 2.0 or "2".
Result<int> count_field(const Json& object, std::string_view key, std::string_view path, int most) {
  const Json* value = field(object, key);
  if (value == nullptr) return 0;
  if (!value->is_number_integer()) return invalid(path, "must be an integer");
  // The parser stores integers above int64's range as unsigned and refuses those below.
  const bool fits = !value->is_number_unsigned() ||
                    value->get<std::uint64_t>() <= static_cast<std::uint64_t>(most);
  if (!fits || value->get<std::int64_t>() < 0 || value->get<std::int64_t>() > most) {
    return invalid(path, fmt::format("must be between 0 and {}", most));
  }
  return value->get<int>();
}

// As spelled, whether a string or a number. "" if absent or zero.
Result<std::string> quantity_field(const Json& object, std::string_view key, std::string_view path,
                                   kube::Scale scale) {
  const Json* value = field(object, key);
  if (value == nullptr) return std::string{};
  if (!value->is_string() && !value->is_number()) {
    return invalid(path, "must be a quantity, as a string or a number");
  }
  const std::string raw = value->is_string() ? value->get<std::string>() : value->dump();
  const std::string text(trim(raw));
  if (raw.size() > kMaxBodyText || text.size() > kMaxQuantityLength)
    return invalid(path, "is too long");
  const auto amount = kube::parse_quantity(text, scale);
  if (!amount) return invalid(path, amount.error().message);
  if (*amount < 0) return invalid(path, fmt::format("must not be negative: {}", text));
  if (*amount == std::numeric_limits<std::int64_t>::max()) return invalid(path, "is too large");
  return *amount == 0 ? std::string{} : text;
}

Result<Nothing> read_quantity(const Json& object, std::string_view group, std::string_view key,
                              kube::Scale scale, std::string& into) {
  auto quantity = quantity_field(object, key, fmt::format("{}.{}", group, key), scale);
  if (!quantity) return quantity.error();
  into = *std::move(quantity);
  return ok();
}

Result<RoleRequest> parse_role_request(const Json& body, std::string_view group, int most) {
  const Json* object = field(body, group);
  if (object == nullptr) return RoleRequest{};
  if (!object->is_object()) return invalid(fmt::format("{}: must be an object", group));

  RoleRequest request;
  const auto replicas = count_field(*object, "replicas", fmt::format("{}.replicas", group), most);
  if (!replicas) return replicas.error();
  request.replicas = *replicas;
  const auto cpus = read_quantity(*object, group, "cpus", kube::Scale::kMilli, request.cpus);
  if (!cpus) return cpus.error();
  const auto gpus = read_quantity(*object, group, "gpus", kube::Scale::kOne, request.gpus);
  if (!gpus) return gpus.error();
  const auto memory = read_quantity(*object, group, "memory", kube::Scale::kOne, request.memory);
  if (!memory) return memory.error();
  if (!request.gpus.empty() && !kube::is_whole(request.gpus)) {
    return invalid(fmt::format("{}.gpus: must be a whole number, not {}", group, request.gpus));
  }
  return request;
}

// A collector with more GPUs just fits nowhere; a learner's GPUs are listed one by one.
Result<Nothing> check_gpus(const RoleRequest& learners) {
  const auto gpus = count_gpus(learners);
  if (!gpus) return invalid("learners.gpus: " + gpus.error().message);
  if (*gpus <= kMaxGpusPerLearner) return ok();
  return invalid(fmt::format("learners.gpus: a learner has at most {}, not {}", kMaxGpusPerLearner,
                             learners.gpus));
}

Result<std::string> parse_name(const Json& body, std::string_view key) {
  auto name = text_field(body, key);
  if (!name) return name;
  if (name->empty()) return invalid(fmt::format("{}: is required", key));
  if (name->size() > kMaxNameLength) return invalid(fmt::format("{}: is too long", key));
  return name;
}

Result<int> parse_count(const Json& body, std::string_view group) {
  const Json* object = field(body, group);
  if (object == nullptr) return 0;
  if (!object->is_object()) return invalid(fmt::format("{}: must be an object", group));
  return count_field(*object, "replicas", fmt::format("{}.replicas", group),
                     std::numeric_limits<int>::max());
}

Result<std::vector<std::string>> parse_names(const Json& body, std::string_view group, int most) {
  std::vector<std::string> names;
  const Json* list = field(body, group);
  if (list == nullptr) return names;
  if (!list->is_array()) return invalid(fmt::format("{}: must be a list of names", group));
  if (list->size() > static_cast<std::size_t>(most)) {
    return invalid(fmt::format("{}: names more than {} replicas", group, most));
  }
  for (const auto& name : *list) {
    const std::string at = fmt::format("{}[{}]", group, names.size());
    if (!name.is_string()) return invalid(at + ": must be a string");
    names.push_back(name.get<std::string>());
    if (names.back().empty()) return invalid(at + ": is empty");
    if (names.back().size() > kMaxUrlLength) return invalid(at + ": is too long");
  }
  return names;
}

// Common parts of all changing calls: the caller, and the request for each role.
template <typename Request, typename ParsePart>
Result<Request> parse_request(std::string_view body, int max_items, ParsePart parse_part) {
  const auto json = parse_request_body(body, max_items);
  if (!json) return json.error();
  auto ns = parse_name(*json, "namespace");
  if (!ns) return ns.error();
  auto coordinator = parse_name(*json, "coordinator");
  if (!coordinator) return coordinator.error();
  auto collectors = parse_part(*json, "collectors");
  if (!collectors) return collectors.error();
  auto learners = parse_part(*json, "learners");
  if (!learners) return learners.error();
  return Request{*std::move(ns), *std::move(coordinator), *std::move(collectors),
                 *std::move(learners)};
}

}  // namespace

Result<AddRequest> parse_add_request(std::string_view body, int most) {
  auto request =
      parse_request<AddRequest>(body, 0, [most](const Json& json, std::string_view group) {
        return parse_role_request(json, group, most);
      });
  if (!request) return request;
  if (const auto gpus = check_gpus(request->learners); !gpus) return gpus.error();
  return request;
}

Result<RemoveRequest> parse_remove_request(std::string_view body) {
  return parse_request<RemoveRequest>(body, 0, parse_count);
}

Result<ReplaceRequest> parse_replace_request(std::string_view body, int most) {
  return parse_request<ReplaceRequest>(
      body, most,
      [most](const Json& json, std::string_view group) { return parse_names(json, group, most); });
}

Result<std::string> parse_key(const RequestHeaders& headers) {
  const std::string* header = find_header(headers, "idempotency-key");
  if (header == nullptr) return std::string{};
  const std::string& key = *header;
  const auto is_plain = [](char c) { return ' ' <= c && c <= '~'; };
  if (key.empty() || key.size() > kMaxKeyLength || !std::all_of(key.begin(), key.end(), is_plain)) {
    return invalid(
        fmt::format("Idempotency-Key: must be 1 to {} visible ASCII characters", kMaxKeyLength));
  }
  return key;
}

namespace {

// The field for that query key; nullptr: unknown key.
std::optional<std::string>* find_query_field(std::string_view key, ListQuery& list) {
  if (key == "namespace") return &list.ns;
  if (key == "coordinator") return &list.coordinator;
  if (key == "aggregator") return &list.aggregator;
  if (key == "name") return &list.name;
  return nullptr;
}

}  // namespace

Result<ListQuery> parse_list_query(const std::multimap<std::string, std::string>& query) {
  ListQuery list;
  for (const auto& [key, value] : query) {
    std::optional<std::string>* slot = find_query_field(to_lower(key), list);
    if (slot == nullptr) return invalid(fmt::format("query: unknown key {}", key));
    if (slot->has_value()) return invalid(fmt::format("query: {} is given twice", key));
    if (value.size() > kMaxNameLength) return invalid(fmt::format("query: {} is too long", key));
    if (value.empty() && slot != &list.ns) return invalid(fmt::format("query: {} is empty", key));
    *slot = value;
  }
  if (list.ns == "") list.ns.reset();

  const int selectors =
      list.coordinator.has_value() + list.aggregator.has_value() + list.name.has_value();
  if (selectors > 1)
    return invalid("query: only one of coordinator, aggregator, name may be given");
  if (selectors == 1 && !list.name && !list.ns) {
    return invalid("query: coordinator and aggregator need a namespace");
  }
  return list;
}

}  // namespace nervex::server
