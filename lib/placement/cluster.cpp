#include "placement/cluster.h"

#include <algorithm>
#include <limits>
#include <set>
#include <unordered_map>

#include "kube/model/device_class.h"

namespace nervex::placement {

// ---- rows

namespace {

// Roles, jobs and requests usually share their constraints.
constexpr std::size_t kMostKnown = 64;

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();

std::int64_t subtract(std::int64_t from, std::int64_t amount, std::int64_t times) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(amount, times, &product)) {
    product = (amount < 0) == (times < 0) ? kMax : kMin;
  }
  std::int64_t left = 0;
  if (!__builtin_sub_overflow(from, product, &left)) return left;
  return product < 0 ? kMax : kMin;
}

// Calls use(amount, column) for resources with a column, other(amount) for the rest. Both inputs
// are sorted by name.
template <typename Use, typename Other>
void each_amount(const kube::Resources& amounts, std::span<const std::string> columns, Use use,
                 Other other) {
  std::size_t column = 0;
  for (const kube::ResourceAmount& amount : amounts.amounts()) {
    while (column < columns.size() && columns[column] < amount.name) ++column;
    if (column < columns.size() && columns[column] == amount.name) {
      use(amount, column);
    } else {
      other(amount);
    }
  }
}

// `rows` of that width: some have it, and none that is counted.
bool is_column_delegated(const std::vector<std::int64_t>& rows, std::size_t column,
                         std::size_t width) {
  bool is_any = false;
  for (std::size_t at = column; at < rows.size(); at += width) {
    if (kube::is_delegated(rows[at])) {
      is_any = true;
    } else if (rows[at] > 0) {
      return false;
    }
  }
  return is_any;
}

}  // namespace

Cluster::Cluster(std::span<const NodeView> views) {
  std::vector<const NodeView*> sorted;
  sorted.reserve(views.size());
  for (const NodeView& view : views) sorted.push_back(&view);
  const auto name_less = [](const NodeView* a, const NodeView* b) {
    return a->node->name < b->node->name;
  };
  if (!std::is_sorted(sorted.begin(), sorted.end(), name_less)) {
    std::stable_sort(sorted.begin(), sorted.end(), name_less);
  }
  const auto same_name = [](const NodeView* a, const NodeView* b) {
    return a->node->name == b->node->name;
  };
  sorted.erase(std::unique(sorted.begin(), sorted.end(), same_name), sorted.end());
  std::set<std::string, std::less<>> columns;
  const auto add_columns = [&columns](const kube::Resources& amounts) {
    for (const auto& [name, amount] : amounts.amounts()) {
      if (columns.find(name) == columns.end() && !kube::is_implicit(name)) columns.insert(name);
    }
  };
  for (const NodeView* view : sorted) {
    add_columns(view->node->allocatable);
    add_columns(view->free);
  }
  auto nodes = std::make_shared<Nodes>();
  nodes->columns.assign(columns.begin(), columns.end());
  nodes->nodes.reserve(sorted.size());
  nodes->allocatable.assign(sorted.size() * nodes->columns.size(), 0);
  std::int64_t* row = nodes->allocatable.data();
  for (const NodeView* view : sorted) {
    nodes->nodes.push_back(view->node);
    each_amount(
        view->node->allocatable, nodes->columns,
        [row](const auto& amount, std::size_t column) { row[column] = amount.amount; },
        [](const auto&) {});
    row += nodes->columns.size();
  }
  for (std::size_t c = 0; c < nodes->columns.size(); ++c) {
    nodes->delegated.push_back(is_column_delegated(nodes->allocatable, c, nodes->columns.size()));
  }
  nodes->delegates =
      std::any_of(nodes->allocatable.begin(), nodes->allocatable.end(), kube::is_delegated);
  nodes->has_soft_taints =
      std::any_of(nodes->nodes.begin(), nodes->nodes.end(), [](const auto& node) {
        return std::any_of(node->taints.begin(), node->taints.end(), kube::is_soft);
      });
  nodes_ = std::move(nodes);
  memo_ = std::make_shared<Memo>();
  free_.assign(sorted.size() * width(), 0);
  implicit_.resize(sorted.size());
  for (std::size_t i = 0; i < sorted.size(); ++i) set_free(i, sorted[i]->free);
}

std::optional<std::size_t> Cluster::find(std::string_view name) const {
  if (!nodes_) return std::nullopt;
  const auto& nodes = nodes_->nodes;
  const auto at = std::lower_bound(
      nodes.begin(), nodes.end(), name,
      [](const auto& node, std::string_view wanted) { return node->name < wanted; });
  if (at == nodes.end() || (*at)->name != name) return std::nullopt;
  return static_cast<std::size_t>(at - nodes.begin());
}

const NodeLabels& Cluster::labels() const {
  static const NodeLabels kNone;
  return labels_ ? *labels_ : kNone;
}

std::span<const std::string> Cluster::columns() const {
  return nodes_ ? std::span<const std::string>(nodes_->columns) : std::span<const std::string>();
}

std::optional<std::size_t> Cluster::column(std::string_view resource) const {
  const auto all = columns();
  const auto at = std::lower_bound(all.begin(), all.end(), resource);
  if (at == all.end() || *at != resource) return std::nullopt;
  return static_cast<std::size_t>(at - all.begin());
}

std::int64_t Cluster::free(std::size_t node, std::string_view resource) const {
  if (kube::is_implicit(resource)) return implicit_[node].get(resource);
  const auto at = column(resource);
  return at ? free_row(node)[*at] : 0;
}

kube::Resources Cluster::free(std::size_t node) const {
  kube::Resources out = implicit_[node];
  for (std::size_t i = 0; i < width(); ++i) out.set(nodes_->columns[i], free_row(node)[i]);
  return out;
}

kube::Resources Cluster::allocatable() const {
  kube::Resources out;
  for (std::size_t c = 0; c < columns().size(); ++c) {
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < size(); ++i) {
      const std::int64_t amount = allocatable_row(i)[c];
      if (!kube::is_delegated(amount)) sum = subtract(sum, amount, -1);
    }
    out.set(columns()[c], sum);
  }
  return out;
}

void Cluster::set_free(std::size_t node, const kube::Resources& free) {
  std::int64_t* row = free_.data() + node * width();
  std::fill(row, row + width(), 0);
  if (!implicit_[node].empty()) implicit_[node] = {};
  each_amount(
      free, nodes_->columns,
      [row](const auto& amount, std::size_t column) { row[column] = amount.amount; },
      [&](const auto& amount) {
        if (kube::is_implicit(amount.name)) implicit_[node].set(amount.name, amount.amount);
      });
}

std::string_view Cluster::first_lacking(std::size_t node, const kube::Resources& asked) const {
  const std::int64_t* row = free_row(node);
  std::string_view lacking;
  each_amount(
      asked, nodes_->columns,
      [&](const auto& amount, std::size_t column) {
        if (lacking.empty() && amount.amount > 0 && amount.amount > row[column]) {
          lacking = amount.name;
        }
      },
      [&](const auto& amount) {
        if (!lacking.empty() || amount.amount <= 0) return;
        const std::int64_t has = kube::requestable(amount.name, implicit_[node].get(amount.name));
        if (amount.amount > has) lacking = amount.name;
      });
  return lacking;
}

void Cluster::take(std::size_t node, const kube::Resources& amount, std::int64_t times) {
  std::int64_t* row = free_.data() + node * width();
  each_amount(
      amount, nodes_->columns,
      [&](const auto& entry, std::size_t column) {
        row[column] = subtract(row[column], entry.amount, times);
      },
      [&](const auto& entry) {
        if (!kube::is_implicit(entry.name)) return;
        implicit_[node].set(entry.name,
                            subtract(implicit_[node].get(entry.name), entry.amount, times));
      });
}

// ---- which nodes may a pod use?

namespace {

void add_keys(const Json& terms, std::set<std::string>& keys, bool& by_name) {
  if (!terms.is_array()) return;
  for (const Json& term : terms) {
    for (const Json& requirement : kube::array_at(term, {"matchExpressions"})) {
      keys.insert(kube::string_at(requirement, {"key"}));
    }
    by_name = by_name || !kube::array_at(term, {"matchFields"}).empty();
  }
}

// judge() gives the same answer for two nodes of one kind: it reads no other part of a node.
class NodeKinds {
 public:
  explicit NodeKinds(const kube::NodeConstraints& constraints) {
    std::set<std::string> keys;
    if (constraints.node_selector.is_object()) {
      for (const auto& [key, value] : constraints.node_selector.items()) keys.insert(key);
    }
    add_keys(constraints.node_selector_terms, keys, by_name_);
    for (const Json& preferred : constraints.preferred_terms) {
      if (const Json* term = kube::find(preferred, {"preference"})) {
        add_keys(Json::array({*term}), keys, by_name_);
      }
    }
    for (const Json& terms : constraints.volume_terms) add_keys(terms, keys, by_name_);
    keys_.assign(keys.begin(), keys.end());
  }

  // The index of the first equal node given so far, or its own index.
  std::size_t first_like(const std::vector<std::shared_ptr<const kube::Node>>& nodes,
                         std::size_t i) {
    if (by_name_) return i;
    read(*nodes[i], now_);
    std::size_t hash = nodes[i]->taints.size();
    for (const std::string_view part : now_) {
      hash = hash * 31 + std::hash<std::string_view>{}(part);
    }
    auto& same_hash = first_[hash];
    for (const std::size_t other : same_hash) {
      read(*nodes[other], then_);
      if (then_ == now_ && nodes[other]->taints == nodes[i]->taints) return other;
    }
    same_hash.push_back(i);
    return i;
  }

 private:
  void read(const kube::Node& node, std::vector<std::string_view>& out) const {
    out.clear();
    out.push_back(node.ready ? "ready" : "");
    out.push_back(node.unschedulable ? "cordoned" : "");
    for (const std::string& key : keys_) {
      const auto label = node.labels.find(key);
      const bool has = label != node.labels.end();
      out.push_back(has ? "has" : "");
      out.push_back(has ? std::string_view(label->second) : "");
    }
  }

  std::vector<std::string> keys_;
  bool by_name_ = false;
  std::unordered_map<std::size_t, std::vector<std::size_t>> first_;
  std::vector<std::string_view> now_, then_;
};

Verdicts judge_all(const kube::NodeConstraints& constraints,
                   const std::vector<std::shared_ptr<const kube::Node>>& nodes,
                   bool has_soft_taints) {
  Verdicts out;
  out.fits.resize(nodes.size());
  out.selected.resize(nodes.size());
  const bool prefers = has_soft_taints || !constraints.preferred_terms.empty();
  if (prefers) out.score.resize(nodes.size());
  bool has_preference = false;
  NodeKinds kinds(constraints);
  const kube::ConstraintIndex index(constraints);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const std::size_t like = kinds.first_like(nodes, i);
    out.fits[i] = like < i ? out.fits[like] : kube::judge(*nodes[i], constraints, index);
    out.selected[i] =
        like < i ? bool{out.selected[like]} : kube::selects(constraints, *nodes[i], index);
    if (!prefers) continue;
    out.score[i] = like < i ? out.score[like] : preference(*nodes[i], constraints, index);
    const bool is_allowed = out.fits[i] == kube::NodeFit::kAllowed;
    has_preference = has_preference || (is_allowed && out.score[i] != 0);
    if (!is_allowed || out.score[i] >= 0) continue;
    const bool evicts = like < i ? !out.evicts.empty() && out.evicts[like]
                                 : kube::evicts(*nodes[i], constraints, index);
    if (evicts && out.evicts.empty()) out.evicts.resize(nodes.size());
    if (evicts) out.evicts[i] = true;
  }
  if (!has_preference) out.score.clear();
  return out;
}

}  // namespace

Cluster Cluster::for_one_plan() const {
  Cluster copy = *this;
  copy.memo_ = std::make_shared<Memo>();
  return copy;
}

kube::NodeFit Cluster::fit(std::size_t node, const kube::PackedConstraints& constraints) const {
  Memo& memo = *memo_;
  if (!(memo.last.packed() == constraints)) memo.last = kube::UnpackedConstraints(constraints);
  return kube::judge(this->node(node), memo.last.get());
}

std::shared_ptr<const Verdicts> Cluster::verdicts(
    const kube::PackedConstraints& constraints) const {
  if (!nodes_) return std::make_shared<const Verdicts>();
  Memo& memo = *memo_;
  for (const auto& [known, verdicts] : memo.known) {
    if (known == constraints) return verdicts;
  }
  auto verdicts = std::make_shared<const Verdicts>(
      judge_all(constraints.unpack(), nodes_->nodes, nodes_->has_soft_taints));
  if (memo.known.size() < kMostKnown) {
    memo.known.emplace_back(constraints, verdicts);
  } else {
    memo.known[memo.next++ % kMostKnown] = {constraints, verdicts};
  }
  return verdicts;
}

}  // namespace nervex::placement
