#include "queue/settled.h"

#include <utility>

namespace nervex::queue {

Settled& SettledWorkloads::edit() {
  if (is_shared_) now_ = std::make_shared<Settled>(*now_);
  is_shared_ = false;
  return *now_;
}

QueueIndex find_home(const QueueTree& tree, const Workload& workload) {
  return tree.find(workload.queue).value_or(kRoot);
}

void SettledWorkloads::set_tree(std::shared_ptr<const QueueTree> tree) {
  Settled& settled = edit();
  settled.tree = std::move(tree);
  settled.usage = Usage(*settled.tree);
  for (const Settled::Workloads& group : settled.groups) {
    for (const Workload& workload : *group) {
      settled.usage.add(*settled.tree, find_home(*settled.tree, workload), workload);
    }
  }
}

void SettledWorkloads::set(const std::string& group_uid, Settled::Workloads workloads) {
  const auto known = index_.find(group_uid);
  const bool is_any = workloads && !workloads->empty();
  if (known == index_.end() && !is_any) return;
  if (known != index_.end() && is_any && *now_->groups[known->second] == *workloads) return;
  erase(group_uid);
  if (!is_any) return;
  Settled& settled = edit();
  for (const Workload& workload : *workloads) {
    settled.usage.add(*settled.tree, find_home(*settled.tree, workload), workload);
  }
  index_.emplace(group_uid, settled.groups.size());
  uids_.push_back(group_uid);
  settled.groups.push_back(std::move(workloads));
}

void SettledWorkloads::erase(std::string_view group_uid) {
  const auto known = index_.find(group_uid);
  if (known == index_.end()) return;
  Settled& settled = edit();
  const std::size_t at = known->second;
  for (const Workload& workload : *settled.groups[at]) {
    settled.usage.remove(*settled.tree, find_home(*settled.tree, workload), workload);
  }
  index_.erase(known);
  if (at + 1 < uids_.size()) {  // the last one moves into its place
    settled.groups[at] = std::move(settled.groups.back());
    uids_[at] = std::move(uids_.back());
    index_.find(uids_[at])->second = at;
  }
  settled.groups.pop_back();
  uids_.pop_back();
}

}  // namespace nervex::queue
