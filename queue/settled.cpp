#include "queue/settled.h"

#include <utility>

namespace nervex::queue {

Settled& SettledWorkloads::edit() {
  if (is_shared_) now_ = std::make_shared<Settled>(*now_);
  is_shared_ = false;
  return *now_;
}

void SettledWorkloads::set(const std::string& group_uid, std::vector<Workload> workloads) {
  const auto known = index_.find(group_uid);
  if (known == index_.end() && workloads.empty()) return;
  if (known != index_.end() && *now_->groups[known->second] == workloads) return;
  erase(group_uid);
  if (workloads.empty()) return;
  Settled& settled = edit();
  for (const Workload& workload : workloads) settled.use[workload.ns] += workload.requests;
  index_.emplace(group_uid, settled.groups.size());
  uids_.push_back(group_uid);
  settled.groups.push_back(std::make_shared<const std::vector<Workload>>(std::move(workloads)));
}

void SettledWorkloads::erase(std::string_view group_uid) {
  const auto known = index_.find(group_uid);
  if (known == index_.end()) return;
  Settled& settled = edit();
  const std::size_t at = known->second;
  for (const Workload& workload : *settled.groups[at]) {
    const auto use = settled.use.find(workload.ns);
    if (use == settled.use.end()) continue;  // its workloads requested nothing
    use->second -= workload.requests;
    if (use->second.empty()) settled.use.erase(use);
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
