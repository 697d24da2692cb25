// extender/observe/parts/pod_history.h - what happened to one PodGroup's pods that their present
// state does not show?
//
// Noted with each event: the pod, and the reason with it, may be deleted before the next snapshot.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "gang/slot.h"
#include "planner/facts/snapshot.h"

namespace nervex::extender {

class PodHistory {
 public:
  // When a pod of an uncommitted plan was last created; and when one was last created, held or
  // refused. kube-scheduler comes again and again with a pod whose bind was held for too long: that
  // is no progress of a plan whose other pods wait for resource claims.
  struct Progress {
    std::optional<MonoTime> last_created;
    MonoTime last;
    std::set<std::int64_t> held{};  // placements whose pods came to their bind
  };

  // The kubelet of the pod's node has rejected it.
  void note_rejection(const gang::PodGroup& group, const gang::PodSlot& slot,
                      const std::string& node);
  // The pod was deleted.
  void note_loss(const gang::PodSlot& slot, const kube::Pod& deleted);
  // The slot has a new pod.
  void forget_loss(const gang::PodSlot& slot);
  // A pod of the gang's uncommitted plan was created, held or refused.
  void note_progress(const std::string& gang, bool is_created, MonoTime now);
  // The pod of that placement came to its bind. `counts_again`: also if it did before.
  void note_held(const std::string& gang, std::int64_t placement, bool counts_again, MonoTime now);
  // Drops the progress of gangs without an uncommitted plan.
  void keep_uncommitted(const gang::PodGroupStatus& status);

  bool has_rejections() const { return !rejections_.empty(); }
  std::vector<planner::NodeRejections> rejections() const;
  // Why the slot's last pod was lost, by role and ordinal.
  const std::map<std::pair<std::string, int>, std::string>& losses() const { return losses_; }
  // Null: nothing was noted.
  const Progress* find_progress(const std::string& gang) const;

 private:
  std::map<std::pair<std::string, std::string>, int> rejections_;  // by set and node
  std::map<std::pair<std::string, int>, std::string> losses_;
  std::map<std::string, Progress> progress_;  // by gang
};

}  // namespace nervex::extender
