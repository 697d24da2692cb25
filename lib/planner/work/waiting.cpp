#include "planner/work/waiting.h"

#include <algorithm>

#include "kube/model/anti_affinity.h"
#include "planner/facts/next_look.h"

namespace nervex::planner {
namespace {

// More than any gang has pods, and far from overflowing a sum over nodes.
constexpr std::int64_t kMostPodsOnNode = 1 << 20;

bool has_more(const kube::Resources& after, const kube::Resources& before) {
  const auto is_more = [&](const kube::ResourceAmount& amount) {
    return amount.amount > before.get(amount.name) && !kube::is_counter(amount.name);
  };
  const auto was_below_zero = [&](const kube::ResourceAmount& amount) {
    return amount.amount < 0 && after.get(amount.name) > amount.amount &&
           !kube::is_counter(amount.name);
  };
  return std::any_of(after.amounts().begin(), after.amounts().end(), is_more) ||
         std::any_of(before.amounts().begin(), before.amounts().end(), was_below_zero);
}

bool has_more_of_what_is_asked(const gang::PodShape& shape, const NodeChange& change) {
  const auto& asked = shape.requests.amounts();
  return std::any_of(asked.begin(), asked.end(), [&](const kube::ResourceAmount& amount) {
    return change.spare_after.get(amount.name) > change.spare_before.get(amount.name);
  });
}

// Another number of pods that the shape's constraints count: one more may help, too, where it is in
// the domain with the fewest.
bool has_other_count(const gang::PodShape& shape, const NodeChange& change) {
  return std::any_of(shape.spread.begin(), shape.spread.end(), [&](const auto& spread) {
    const std::string& counter = spread.pods.counter;
    return change.spare_after.get(counter) != change.spare_before.get(counter);
  });
}

// How many pods of a shape fit on nodes?
class PodsOn {
 public:
  explicit PodsOn(const gang::PodShape& shape) : shape_(shape), constraints_(shape.constraints) {}

  std::int64_t operator()(const kube::Node* node, const kube::Resources& spare) {
    if (node == nullptr) return 0;
    const std::int64_t pods = shape_.requests.times_in(spare, kMostPodsOnNode);
    if (pods <= 0) return 0;
    return kube::judge(*node, constraints_.get()) == kube::NodeFit::kAllowed ? pods : 0;
  }

 private:
  const gang::PodShape& shape_;
  kube::UnpackedConstraints constraints_;
};

// Capacity of one node may keep pods off another one.
bool depends_on_domains(const gang::PodShape& shape) {
  const auto& asked = shape.requests.amounts();
  return !shape.spread.empty() ||
         std::any_of(asked.begin(), asked.end(), [](const kube::ResourceAmount& amount) {
           const std::string_view key = kube::parse_topology_key(amount.name);
           return !key.empty() && key != kube::kHostname;
         });
}

}  // namespace

bool matters(const kube::NodePtr& before, const kube::NodePtr& after) {
  if (!before || !after) return before != after;
  return before->ready != after->ready || before->unschedulable != after->unschedulable ||
         before->taints != after->taints || before->labels != after->labels ||
         before->allocatable != after->allocatable;
}

bool NodeChange::is_gain() const {
  if (!after) return false;
  return before != after || has_lost_nominated || has_more(spare_after, spare_before);
}

bool NodeChange::has_other_count() const {
  const auto is_missing_in = [](const kube::Resources& other) {
    return [&other](const kube::ResourceAmount& amount) {
      return kube::is_counter(amount.name) && other.get(amount.name) != amount.amount;
    };
  };
  const auto& now = spare_after.amounts();
  const auto& then = spare_before.amounts();
  return std::any_of(now.begin(), now.end(), is_missing_in(spare_before)) ||
         std::any_of(then.begin(), then.end(), is_missing_in(spare_after));
}

void WaitingGangs::note(const std::vector<NodeChange>& changes) {
  if (changes.empty() || gangs_.empty()) return;
  const bool is_any_gain = std::any_of(changes.begin(), changes.end(),
                                       [](const NodeChange& change) { return change.is_gain(); });
  for (Shape& shape : shapes_) {
    if (shape.gangs == 0) continue;
    // Capacity of one node may keep pods off another one of its domain.
    shape.has_gained = (is_any_gain && (shape.by_domain || !shape.is_summed)) ||
                       std::any_of(changes.begin(), changes.end(), [&](const auto& change) {
                         return has_other_count(shape.shape, change);
                       });
    if (!shape.is_summed) continue;
    PodsOn pods_on(shape.shape);
    for (const NodeChange& change : changes) {
      const std::int64_t before = pods_on(change.before.get(), change.spare_before);
      const std::int64_t after = pods_on(change.after.get(), change.spare_after);
      shape.total += after - before;
      shape.has_gained =
          shape.has_gained ||
          (after > 0 && (change.before != change.after || change.has_lost_nominated ||
                         has_more_of_what_is_asked(shape.shape, change)));
    }
  }
  // The reason depends on the node itself, not only on its free capacity.
  const bool has_other_node = std::any_of(changes.begin(), changes.end(), [](const auto& change) {
    return change.before != change.after;
  });
  const bool is_any_counted = std::any_of(
      changes.begin(), changes.end(), [](const auto& change) { return change.has_other_count(); });
  for (auto& [key, gang] : gangs_) {
    gang.has_changed = true;
    gang.has_gained = gang.has_gained || (gang.is_untracked && (is_any_gain || is_any_counted)) ||
                      std::any_of(gang.wanted.begin(), gang.wanted.end(), [&](const auto& entry) {
                        return shapes_[entry.first].has_gained;
                      });
    gang.has_other_node = gang.has_other_node || has_other_node;
  }
}

void WaitingGangs::replace(RefusedGangs&& refused) {
  std::map<GangKey, Waiting> next;
  for (auto& [key, now] : refused) {
    const auto known = gangs_.find(key);
    if (known != gangs_.end() && known->second.refused == now) {
      next.emplace(key, std::move(known->second));
      gangs_.erase(known);
    } else {
      next.emplace(key, start(std::move(now)));
    }
  }
  for (const auto& [key, gang] : gangs_) drop(gang);
  gangs_ = std::move(next);
}

bool WaitingGangs::has_new_shapes() const {
  return std::any_of(shapes_.begin(), shapes_.end(),
                     [](const Shape& shape) { return shape.gangs > 0 && !shape.is_summed; });
}

void WaitingGangs::sum_up(const std::vector<placement::NodeView>& nodes) {
  for (Shape& shape : shapes_) {
    if (shape.gangs == 0 || shape.is_summed) continue;
    shape.total = 0;
    PodsOn pods_on(shape.shape);
    for (const placement::NodeView& view : nodes) {
      shape.total += pods_on(view.node.get(), view.free);
    }
    shape.is_summed = true;
  }
}

void WaitingGangs::gain_all() {
  for (auto& [key, gang] : gangs_) gang.has_gained = true;
}

bool WaitingGangs::any_may_fit() const {
  return std::any_of(gangs_.begin(), gangs_.end(),
                     [this](const auto& entry) { return may_fit(entry.second); });
}

std::shared_ptr<const RefusedGang> WaitingGangs::still_refused(
    const GangKey& key, const std::vector<gang::MemberSet>& sets,
    const std::vector<placement::NodeLimit>& limits, SysTime now,
    const std::vector<placement::GroupLimit>& group_limits, const TakenPods& taken,
    const std::vector<ReservedBy>& reserved_by) const {
  const auto known = gangs_.find(key);
  if (known == gangs_.end()) return nullptr;
  const Waiting& gang = known->second;
  const bool is_same = gang.refused->limits == limits && gang.refused->sets == sets &&
                       gang.refused->group_limits == group_limits &&
                       gang.refused->reserved_by == reserved_by;
  if (may_fit(gang, taken) || !is_same) return nullptr;
  const bool is_old =
      gang.has_changed && now >= gang.refused->at + refresh_period(gangs_.size(), key.first);
  return is_old ? nullptr : gang.refused;
}

std::optional<SysTime> WaitingGangs::first_refresh() const {
  std::optional<SysTime> first;
  for (const auto& [key, gang] : gangs_) {
    if (!gang.has_changed) continue;
    const SysTime due = gang.refused->at + refresh_period(gangs_.size(), key.first);
    if (!first || due < *first) first = due;
  }
  return first;
}

void WaitingGangs::take(const kube::Node& node, const kube::Resources& spare,
                        const kube::Resources& used, TakenPods& taken) const {
  kube::Resources left = spare;
  left -= used;
  taken.resize(shapes_.size());
  for (std::size_t i = 0; i < shapes_.size(); ++i) {
    const Shape& shape = shapes_[i];
    if (shape.gangs == 0 || !shape.is_summed) continue;
    PodsOn pods_on(shape.shape);
    taken[i] += pods_on(&node, spare) - pods_on(&node, left);
  }
}

bool WaitingGangs::may_fit(const Waiting& gang, const TakenPods& taken) const {
  if (gang.has_other_node) return true;
  return gang.has_gained &&
         std::all_of(gang.wanted.begin(), gang.wanted.end(), [&](const auto& entry) {
           const Shape& shape = shapes_[entry.first];
           const std::int64_t less = taken.empty() ? 0 : taken[entry.first];
           return !shape.is_summed || shape.total - less >= entry.second;
         });
}

WaitingGangs::Waiting WaitingGangs::start(std::shared_ptr<const RefusedGang> refused) {
  Waiting gang;
  for (const gang::MemberSet& set : refused->sets) {
    const auto shape = find_shape(set.shape);
    if (!shape) {
      gang.is_untracked = true;
      continue;
    }
    const auto [at, is_new] = gang.wanted.try_emplace(*shape, 0);
    at->second += static_cast<std::int64_t>(set.slots.size());
    if (is_new) ++shapes_[*shape].gangs;
  }
  gang.refused = std::move(refused);
  return gang;
}

void WaitingGangs::drop(const Waiting& gang) {
  for (const auto& [shape, wanted] : gang.wanted) --shapes_[shape].gangs;
}

std::optional<std::size_t> WaitingGangs::find_shape(const gang::PodShape& shape) {
  std::optional<std::size_t> unused;
  for (std::size_t i = 0; i < shapes_.size(); ++i) {
    // A shape without gangs is not kept up to date.
    if (shapes_[i].gangs == 0) {
      unused = i;
    } else if (shapes_[i].shape == shape) {
      return i;
    }
  }
  if (!unused) {
    if (shapes_.size() == kMostShapes) return std::nullopt;
    unused = shapes_.size();
    shapes_.emplace_back();
  }
  shapes_[*unused] = Shape{shape, depends_on_domains(shape), 0, false, false, 0};
  return unused;
}

}  // namespace nervex::planner
