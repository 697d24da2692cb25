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
  runs_.clear();
  heap_.clear();
  if (next_level_ == waiting_.size()) return;
  const auto open = level(*waiting_[next_level_], ignores_priority_);
  const auto is_open = [&](const Workload& workload) {
    return level(workload, ignores_priority_) == open;
  };
  while (next_level_ < waiting_.size() && is_open(*waiting_[next_level_])) {
    const Workload& first = *waiting_[next_level_];
    Run run{next_level_, next_level_ + 1, first.user, {}, runs_.size()};
    while (run.end < waiting_.size() && is_open(*waiting_[run.end]) &&
           (!has_fair_users_ || waiting_[run.end]->user == first.user)) {
      ++run.end;
    }
    if (has_fair_users_) {
      const auto use = users_.find(first.user);
      if (use != users_.end()) run.share = dominant_share(use->second, *capacity_);
    }
    next_level_ = run.end;
    heap_.push_back(runs_.size());
    runs_.push_back(run);
  }
  for (std::size_t place = heap_.size() / 2; place-- > 0;) sift_down(place);
}

bool Line::is_before(const Run& a, const Run& b) const {
  const auto order = a.share <=> b.share;
  return order != 0 ? order < 0 : compare_age(*waiting_[a.next], *waiting_[b.next]) < 0;
}

// After the share or the age of the run there has grown worse. Neither ever gets better.
void Line::sift_down(std::size_t place) {
  while (true) {
    std::size_t best = place;
    for (const std::size_t child : {2 * place + 1, 2 * place + 2}) {
      if (child < heap_.size() && is_before(runs_[heap_[child]], runs_[heap_[best]])) best = child;
    }
    if (best == place) return;
    std::swap(heap_[place], heap_[best]);
    runs_[heap_[place]].place = place;
    runs_[heap_[best]].place = best;
    place = best;
  }
}

const Workload* Line::head() const {
  return heap_.empty() ? nullptr : waiting_[runs_[heap_.front()].next];
}

void Line::charge(const Workload& placed) {
  if (!has_fair_users_ || placed.is_elastic) return;
  kube::Resources& use = users_[placed.user];
  use += placed.requests;
  const auto run =
      std::lower_bound(runs_.begin(), runs_.end(), placed.user,
                       [](const Run& each, std::string_view user) { return each.user < user; });
  if (run == runs_.end() || run->user != placed.user) return;
  run->share = dominant_share(use, *capacity_);
  if (run->next != run->end) sift_down(run->place);
}

void Line::skip() {
  Run& run = runs_[heap_.front()];
  if (++run.next == run.end) {
    heap_.front() = heap_.back();
    heap_.pop_back();
    if (heap_.empty()) return open_level();
    runs_[heap_.front()].place = 0;
  }
  sift_down(0);
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
