#include "extender/act/queue_writes.h"

#include <utility>

#include "base/log.h"
#include "extender/act/parallelize.h"
#include "planner/recovery/old_definition.h"

namespace nervex::extender {
namespace {

constexpr std::string_view kFieldManager = "nervex-extender";

// Without the field nothing is preempted for the queue.
void check_stored(const Json& decided, const Json& object, const std::string& queue) {
  const char* field = "recentPreemptions";
  if (!decided.contains(field) || kube::find(object, {"status", field}) != nullptr) return;
  log_error(
      "preemptions are not stored in the status of a Queue",
      {{"queue", queue}, {"error", planner::describe_old_definition(planner::kQueueDefinition)}});
}

}  // namespace

Json QueueWrites::write_one(const queue::Report& report, const Written* before) {
  Json stored = before == nullptr ? Json() : before->status;
  if (before == nullptr) {  // the first write of this process
    const auto object = kube::get_object(api_, kube::kQueues, "", report.queue);
    if (object) {
      if (const Json* status = kube::find(*object, {"status"})) stored = *status;
    }
  }
  Json status = queue::encode_status(report, stored, clock_.now());
  const Json object{{"apiVersion", gang::kApiVersion},
                    {"kind", "Queue"},
                    {"metadata", {{"name", report.queue}, {"uid", report.uid}}},
                    {"status", status}};
  const auto written = kube::apply_object(api_, kube::kQueues, "", object, kFieldManager,
                                          kube::Force::kYes, "status");
  if (written) check_stored(status, *written, report.queue);
  // Deleted since, or another object of that name: the watch reports it.
  const bool is_gone = !written && (written.error().code == Code::kNotFound ||
                                    written.error().code == Code::kConflict);
  if (written || is_gone) return status;
  log_warn("queue status not written",
           {{"queue", report.queue}, {"error", written.error().message}});
  return {};
}

bool QueueWrites::write(const std::vector<queue::Report>& reports) {
  if (reports.empty()) return true;
  std::vector<const queue::Report*> changed;
  std::vector<const Written*> before;
  for (const queue::Report& report : reports) {
    const auto known = written_.find(report.uid);
    if (known != written_.end() && known->second.report == report) continue;
    changed.push_back(&report);
    before.push_back(known == written_.end() ? nullptr : &known->second);
  }
  std::vector<Json> stored(changed.size());
  parallelize(parallelism_, changed.size(),
              [&](std::size_t i) { stored[i] = write_one(*changed[i], before[i]); });
  bool are_all_written = true;
  std::map<std::string, Written> written;  // without those of deleted queues
  for (const queue::Report& report : reports) {
    if (auto known = written_.extract(report.uid)) written.insert(std::move(known));
  }
  for (std::size_t i = 0; i < changed.size(); ++i) {
    written.erase(changed[i]->uid);
    are_all_written = are_all_written && !stored[i].is_null();
    if (stored[i].is_null()) continue;
    written.emplace(changed[i]->uid, Written{*changed[i], std::move(stored[i])});
  }
  written_ = std::move(written);
  MutexLock lock(mutex_);
  latest_ = reports;
  return are_all_written;
}

std::vector<queue::Report> QueueWrites::latest() const {
  MutexLock lock(mutex_);
  return latest_;
}

}  // namespace nervex::extender
