#include "queue/queue.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "kube/model/meta.h"
#include "kube/model/quantity.h"
#include "kube/model/resources.h"

namespace nervex::queue {
namespace {

Error invalid_field(std::string_view field, std::string_view what) {
  return Error{Code::kInvalid, fmt::format("{}: {}", field, what)};
}

constexpr std::array<std::pair<std::string_view, Queue::Order>, 2> kOrders{{
    {"Priority", Queue::Order::kPriority},
    {"FIFO", Queue::Order::kFifo},
}};
constexpr std::array<std::pair<std::string_view, Queue::Reclaim>, 3> kReclaims{{
    {"Never", Queue::Reclaim::kNever},
    {"LowerPriority", Queue::Reclaim::kLowerPriority},
    {"Any", Queue::Reclaim::kAny},
}};
constexpr std::array<std::pair<std::string_view, Queue::Preemption>, 2> kPreemptions{{
    {"Never", Queue::Preemption::kNever},
    {"LowerPriority", Queue::Preemption::kLowerPriority},
}};
constexpr std::array<std::pair<std::string_view, Queue::Stop>, 3> kStops{{
    {"None", Queue::Stop::kNone},
    {"Hold", Queue::Stop::kHold},
    {"HoldAndDrain", Queue::Stop::kHoldAndDrain},
}};

// An absent field keeps `value`.
template <typename Known>
Result<Nothing> read_choice(const Json& spec, std::string_view field, const Known& known,
                            typename Known::value_type::second_type& value) {
  const Json* found = kube::find(spec, {field});
  if (found == nullptr) return ok();
  std::vector<std::string_view> names;
  for (const auto& [name, choice] : known) {
    if (*found == name) {
      value = choice;
      return ok();
    }
    names.push_back(name);
  }
  return invalid_field(fmt::format("spec.{}", field),
                       fmt::format("must be one of {}", fmt::join(names, ", ")));
}

// nullopt: absent.
Result<std::optional<std::int64_t>> read_number(const Json& spec, std::string_view field,
                                                std::int64_t low, std::int64_t high) {
  const Json* found = kube::find(spec, {field});
  if (found == nullptr) return std::optional<std::int64_t>();
  // An amount beyond int64 counts as absent in int_at(): out of range in any case.
  const std::int64_t number = kube::int_at(spec, {field}, low - 1);
  if (!found->is_number_integer() || number < low || number > high) {
    return invalid_field(fmt::format("spec.{}", field),
                         fmt::format("must be an integer from {} to {}", low, high));
  }
  return std::optional(number);
}

// CPU time and bytes, as in the rule of schemas/queue.json.
bool is_divisible(std::string_view resource) {
  return resource == "cpu" || resource == "memory" || resource == "ephemeral-storage" ||
         resource.starts_with("hugepages-");
}

// The amount of one resource. Devices and other counted resources are whole numbers, as in pods.
Result<std::int64_t> decode_amount(const std::string& where, const std::string& resource,
                                   const Json& quantity) {
  const auto decoded = kube::decode_resources({{resource, quantity}});
  if (!decoded) return with_context(where, decoded.error());
  const std::string field = fmt::format("{}: {}", where, resource);
  const std::int64_t amount = decoded->get(resource);
  if (amount < 0) return invalid_field(field, "must not be negative");
  const std::string text = quantity.is_string() ? quantity.get<std::string>() : quantity.dump();
  if (!is_divisible(resource) && !kube::is_whole(text)) {
    return invalid_field(field, "must be a whole number");
  }
  return amount;
}

// The reverse of the object's form: there amounts are listed by node class.
Result<Bounds> decode_bounds(const Json& spec, std::string_view field) {
  std::map<std::string, ResourceBound> bounds;
  std::set<std::string> classes;
  int entries = 0;
  for (const Json& entry : kube::array_at(spec, {field})) {
    const std::string where = fmt::format("spec.{}[{}]", field, entries++);
    if (!entry.is_object()) return invalid_field(where, "must be an object");
    const std::string node_class = kube::string_at(entry, {"nodeClass"});
    if (!classes.insert(node_class).second) {
      return invalid_field(where + ".nodeClass",
                           node_class.empty() ? std::string("a second entry without a class")
                                              : fmt::format("{} has an entry already", node_class));
    }
    const Json* resources = kube::find(entry, {"resources"});
    if (resources == nullptr || !resources->is_object() || resources->empty()) {
      return invalid_field(where + ".resources", "is required");
    }
    for (const auto& [resource, quantity] : resources->items()) {
      const auto amount = decode_amount(where + ".resources", resource, quantity);
      if (!amount) return amount.error();
      ResourceBound& bound = bounds[resource];
      bound.resource = resource;
      if (node_class.empty()) {
        bound.total = *amount;
      } else {
        bound.classes.push_back({node_class, *amount});
      }
    }
  }
  Bounds sorted;
  for (auto& [resource, bound] : bounds) {
    std::sort(bound.classes.begin(), bound.classes.end(),
              [](const auto& a, const auto& b) { return a.node_class < b.node_class; });
    sorted.push_back(std::move(bound));
  }
  return sorted;
}

Result<Nothing> decode_selector(const Json& spec, Queue& queue) {
  queue.namespace_selector = {{{std::string(kQueueLabel), {}, {queue.name}}}};
  const Json* selector = kube::find(spec, {"namespaceSelector"});
  if (selector == nullptr) return ok();
  auto decoded = kube::decode_label_selector(*selector);
  if (!decoded) return with_context("spec.namespaceSelector", decoded.error());
  queue.namespace_selector = *std::move(decoded);
  return ok();
}

Result<Nothing> decode_numbers(const Json& spec, Queue& queue) {
  constexpr std::int64_t kMostSeconds = std::numeric_limits<std::int32_t>::max();
  const auto weight = read_number(spec, "weight", 1, kMostWeight);
  if (!weight) return weight.error();
  const auto least = read_number(spec, "minRuntimeSeconds", 0, kMostSeconds);
  if (!least) return least.error();
  const auto most = read_number(spec, "maxRuntimeSeconds", 1, kMostSeconds);
  if (!most) return most.error();
  queue.weight = weight->value_or(queue.weight);
  queue.min_runtime_seconds = least->value_or(queue.min_runtime_seconds);
  queue.max_runtime_seconds = *most;
  return ok();
}

Result<Nothing> decode_spec_into(const Json& spec, Queue& queue) {
  queue.parent = kube::string_at(spec, {"parent"});
  queue.fair_users = kube::bool_at(spec, {"fairUsers"});
  if (auto read = decode_selector(spec, queue); !read) return read;
  if (auto read = decode_numbers(spec, queue); !read) return read;
  if (auto read = read_choice(spec, "order", kOrders, queue.order); !read) return read;
  if (auto read = read_choice(spec, "reclaim", kReclaims, queue.reclaim); !read) return read;
  if (auto read = read_choice(spec, "preemption", kPreemptions, queue.preemption); !read) {
    return read;
  }
  if (auto read = read_choice(spec, "stop", kStops, queue.stop); !read) return read;
  auto quota = decode_bounds(spec, "quota");
  if (!quota) return quota.error();
  auto limit = decode_bounds(spec, "limit");
  if (!limit) return limit.error();
  queue.quota = *std::move(quota);
  queue.limit = *std::move(limit);
  return ok();
}

}  // namespace

const ResourceBound* find_bound(const Bounds& bounds, std::string_view resource) {
  const auto found = std::lower_bound(
      bounds.begin(), bounds.end(), resource,
      [](const ResourceBound& bound, std::string_view name) { return bound.resource < name; });
  return found != bounds.end() && found->resource == resource ? &*found : nullptr;
}

std::int64_t guaranteed_amount(const ResourceBound& quota) {
  if (quota.total) return *quota.total;
  std::int64_t sum = 0;
  for (const auto& each : quota.classes) {
    if (__builtin_add_overflow(sum, each.amount, &sum)) {
      return std::numeric_limits<std::int64_t>::max();
    }
  }
  return sum;
}

Result<Queue> decode_queue(const Json& object) {
  Queue queue;
  queue.name = kube::string_at(object, {"metadata", "name"});
  if (queue.name.empty()) return Error{Code::kInvalid, "queue: metadata.name: is required"};
  kube::Meta meta = kube::decode_meta(object);
  queue.uid = std::move(meta.uid);
  queue.resource_version = std::move(meta.resource_version);
  queue.generation = meta.generation;
  for (const Json& time : kube::array_at(object, {"status", "recentPreemptions"})) {
    if (!time.is_string()) continue;
    if (const auto read = parse_rfc3339(time.get<std::string>()))
      queue.preemptions.push_back(*read);
  }
  std::sort(queue.preemptions.begin(), queue.preemptions.end());
  static const Json kNoSpec = Json::object();
  const Json* spec = kube::find(object, {"spec"});
  const auto read = decode_spec_into(spec == nullptr ? kNoSpec : *spec, queue);
  if (!read) queue.unreadable = read.error().message;
  return queue;
}

Result<Queue> parse_queue(std::string_view json) {
  const auto object = kube::parse_json(json);
  if (!object) return with_context("queue", object.error());
  return decode_queue(*object);
}

}  // namespace nervex::queue
