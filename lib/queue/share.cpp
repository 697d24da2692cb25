#include "queue/share.h"

#include <algorithm>

#include <fmt/format.h>

namespace nervex::queue {
namespace {

std::int64_t class_use(const ClassedResources& use, const std::string& node_class,
                       const std::string& resource) {
  const auto found = use.by_class.find(node_class);
  return found == use.by_class.end() ? 0 : found->second.get(resource);
}

// Amounts are at least 0, so that no difference overflows.
std::int64_t excess(std::int64_t use, std::int64_t quota) { return use > quota ? use - quota : 0; }

std::int64_t borrowed_amount(const ResourceBound& quota, const ClassedResources& use) {
  const std::int64_t all = std::max<std::int64_t>(use.total.get(quota.resource), 0);
  if (quota.classes.empty()) return excess(all, quota.total.value_or(0));
  std::int64_t beyond_classes = 0;
  std::int64_t elsewhere = all;  // on nodes of classes that the quota does not name
  for (const auto& [node_class, amount] : quota.classes) {
    const std::int64_t used =
        std::clamp<std::int64_t>(class_use(use, node_class, quota.resource), 0, elsewhere);
    beyond_classes += excess(used, amount);
    elsewhere -= used;
  }
  if (!quota.total) return beyond_classes + elsewhere;
  return std::max(beyond_classes, excess(all, *quota.total));
}

}  // namespace

std::weak_ordering Fraction::operator<=>(const Fraction& other) const {
  Wide left = 0;
  Wide right = 0;
  if (!__builtin_mul_overflow(numerator_, other.denominator_, &left) &&
      !__builtin_mul_overflow(other.numerator_, denominator_, &right)) {
    return left <=> right;
  }
  // Euclid: compares whole parts, then the reciprocals of what remains.
  Fraction a = *this;
  Fraction b = other;
  for (bool is_reversed = false;; is_reversed = !is_reversed) {
    const Wide whole_a = a.numerator_ / a.denominator_;
    const Wide whole_b = b.numerator_ / b.denominator_;
    const Wide rest_a = a.numerator_ % a.denominator_;
    const Wide rest_b = b.numerator_ % b.denominator_;
    if (whole_a != whole_b) return is_reversed ? whole_b <=> whole_a : whole_a <=> whole_b;
    if (rest_a == 0 || rest_b == 0) return is_reversed ? rest_b <=> rest_a : rest_a <=> rest_b;
    a = Fraction(a.denominator_, rest_a);
    b = Fraction(b.denominator_, rest_b);
  }
}

std::string Fraction::to_percent() const {
  const auto whole = static_cast<std::uint64_t>(numerator_ / denominator_);
  Wide rest = numerator_ % denominator_;
  std::uint64_t tenths = 0;  // of a percent; digit by digit, so that nothing overflows
  for (int digit = 0; digit < 3; ++digit) {
    rest *= 10;
    tenths = tenths * 10 + static_cast<std::uint64_t>(rest / denominator_);
    rest %= denominator_;
  }
  return fmt::format("{}.{}%", whole * 100 + tenths / 10, tenths % 10);
}

Fraction dominant_share(const kube::Resources& amounts, const kube::Resources& capacity,
                        std::int64_t weight) {
  Fraction largest;
  for (const auto& [resource, amount] : amounts.amounts()) {
    const std::int64_t all = capacity.get(resource);
    if (amount <= 0 || all <= 0) continue;
    const Fraction share(static_cast<Fraction::Wide>(amount),
                         static_cast<Fraction::Wide>(all) * static_cast<Fraction::Wide>(weight));
    largest = std::max(largest, share);
  }
  return largest;
}

kube::Resources borrowed(const QueueTree& tree, const Usage& usage, QueueIndex queue) {
  const ClassedResources& use = usage.rigid(queue);
  kube::Resources amounts = use.total;
  for (const ResourceBound& quota : tree.quota(queue)) {
    if (use.total.get(quota.resource) == 0) continue;
    amounts.set(quota.resource, borrowed_amount(quota, use));
  }
  return amounts;
}

Fraction used_quota(const QueueTree& tree, const Usage& usage, QueueIndex queue) {
  const ClassedResources& use = usage.rigid(queue);
  Fraction largest;
  for (const ResourceBound& quota : tree.quota(queue)) {
    const std::int64_t guaranteed = guaranteed_amount(quota);
    const std::int64_t within = use.total.get(quota.resource) - borrowed_amount(quota, use);
    if (guaranteed <= 0 || within <= 0) continue;
    largest = std::max(largest, Fraction(static_cast<Fraction::Wide>(within),
                                         static_cast<Fraction::Wide>(guaranteed)));
  }
  return largest;
}

}  // namespace nervex::queue
