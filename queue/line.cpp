#include "queue/line.h"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "queue/order.h"

namespace nervex::queue {
namespace {

// A smaller level is served completely before the next: users take turns within a level only.
std::pair<bool, std::int64_t> level(const Workload& workload, bool ignores_priority) {
  return {workload.is_elastic, ignores_priority ? 0 : -std::int64_t{workload.priority}};
}

std::strong_ordering compare_age(const Workload& a, const Workload& b) {
  Rank first = rank(a);
  Rank second = rank(b);
  first.priority = second.priority = 0;
  const auto order = first <=> second;
  return order != 0 ? order : std::tie(a.position, a.id) <=> std::tie(b.position, b.id);
}

}  // namespace

Line::Line(const Queue& queue, const kube::Resources& capacity, const Usage::ByUser& users,
           std::vector<const Workload*> waiting)
    : capacity_(&capacity),
      has_fair_users_(queue.fair_users),
      ignores_priority_(queue.order == Queue::Order::kFifo),
      users_(users),
      waiting_(std::move(waiting)) {
  std::sort(waiting_.begin(), waiting_.end(), [this](const Workload* a, const Workload* b) {
    const auto first = level(*a, ignores_priority_);
    const auto second = level(*b, ignores_priority_);
    if (first != second) return first < second;
    if (has_fair_users_ && a->user != b->user) return a->user < b->user;
    return compare_age(*a, *b) < 0;
  });
  open_level();
}

void Line::open_level() {
  while (next_level_ < waiting_.size()) {
    const Workload& first = *waiting_[next_level_];
    const bool is_other_level =
        !runs_.empty() &&
        level(first, ignores_priority_) != level(*waiting_[runs_.back().next], ignores_priority_);
    if (is_other_level) break;
    Run run{next_level_, next_level_ + 1, first.user, {}};
    while (run.end < waiting_.size() &&
           level(*waiting_[run.end], ignores_priority_) == level(first, ignores_priority_) &&
           (!has_fair_users_ || waiting_[run.end]->user == first.user)) {
      ++run.end;
    }
    if (has_fair_users_) {
      const auto use = users_.find(first.user);
      if (use != users_.end()) run.share = dominant_share(use->second, *capacity_);
    }
    next_level_ = run.end;
    runs_.push_back(run);
  }
  choose_run();
}

void Line::choose_run() {
  if (runs_.size() < 2) return;
  const auto best =
      std::min_element(runs_.begin(), runs_.end(), [this](const Run& a, const Run& b) {
        const auto order = a.share <=> b.share;
        return order != 0 ? order < 0 : compare_age(*waiting_[a.next], *waiting_[b.next]) < 0;
      });
  std::iter_swap(best, runs_.end() - 1);
}

const Workload* Line::head() const { return runs_.empty() ? nullptr : waiting_[runs_.back().next]; }

void Line::charge(const Workload& placed) {
  if (!has_fair_users_ || placed.is_elastic) return;
  kube::Resources& use = users_[placed.user];
  use += placed.requests;
  for (Run& run : runs_) {
    if (run.user == placed.user) run.share = dominant_share(use, *capacity_);
  }
  choose_run();
}

void Line::skip() {
  Run& run = runs_.back();
  if (++run.next == run.end) runs_.pop_back();
  if (runs_.empty()) {
    open_level();
  } else {
    choose_run();
  }
}

std::vector<const Workload*> serving_order(Line line) {
  std::vector<const Workload*> order;
  while (const Workload* head = line.head()) {
    order.push_back(head);
    line.skip();
    line.charge(*head);
  }
  return order;
}

int coarse_position(std::size_t position) {
  static constexpr std::array kSteps{1, 2, 3, 5, 10, 20, 50, 100};
  const auto above = std::upper_bound(
      kSteps.begin(), kSteps.end(), position,
      [](std::size_t at, int step) { return at < static_cast<std::size_t>(step); });
  return above == kSteps.begin() ? kSteps.front() : *(above - 1);
}

}  // namespace nervex::queue
