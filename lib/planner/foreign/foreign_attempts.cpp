#include "planner/foreign/foreign_attempts.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/backoff.h"
#include "base/text.h"
#include "gang/avoided_nodes.h"
#include "planner/bind/filter.h"
#include "planner/recovery/refusals.h"

namespace nervex::planner {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kFirstDelay{1'000};
constexpr milliseconds kLongestDelay{60'000};
constexpr std::size_t kLongestRefusal = 1024;
constexpr int kSure = 2;  // strikes
// From the gang's first failed bind until all held binds have failed.
constexpr milliseconds kJudgeStart{1'000};

// The nomination was written and the API does not show it yet.
bool is_in_flight(const kube::Pod& pod, const ForeignMemory::Nomination& written) {
  if (written.version.empty()) return false;
  return pod.meta.resource_version == written.base_version ||
         kube::is_newer_version(written.version, pod.meta.resource_version);
}

milliseconds delay_after(int failures) {
  if (failures <= 1) return milliseconds(0);
  return backoff_delay(kFirstDelay, failures - 2, kLongestDelay);
}

class Attempts {
 public:
  Attempts(const ForeignGangSeen& seen, std::span<const std::string_view> sets, SysTime now,
           ForeignMemory::Gang& memory)
      : seen_(seen), sets_(sets), now_(now), memory_(memory) {
    out_.is_refused.resize(seen.pending.size(), false);
  }
  ForeignAttempts note();

 private:
  void note_failed_start(bool has_failed);
  void note_refusal(std::size_t pod, ForeignMemory::Nomination& nomination);
  void avoid(std::size_t pod, const std::string& node);

  const ForeignGangSeen& seen_;
  const std::span<const std::string_view> sets_;
  const SysTime now_;
  ForeignMemory::Gang& memory_;
  ForeignAttempts out_;
};

// Which nominations are there, and which attempts have failed since the last cycle?
ForeignAttempts Attempts::note() {
  if (seen_.counts.bound > memory_.bound) memory_.failures = 0;
  memory_.bound = seen_.counts.bound;
  std::map<std::string, ForeignMemory::Nomination> known = std::move(memory_.nominations);
  memory_.nominations.clear();
  bool has_failed = false;
  for (std::size_t i = 0; i < seen_.pending.size(); ++i) {
    const kube::Pod& pod = *seen_.pending[i].pod;
    out_.nominated.push_back(pod.nominated_node);
    const auto at = known.find(pod.meta.uid);
    if (at == known.end()) {
      if (pod.nominated_node.empty()) continue;
      // By the leader before this one.
      const std::string& version = pod.meta.resource_version;
      memory_.nominations.emplace(
          pod.meta.uid,
          ForeignMemory::Nomination{pod.nominated_node, version, version, now_, "", 0});
      continue;
    }
    ForeignMemory::Nomination written = std::move(at->second);
    if (is_in_flight(pod, written)) {
      out_.nominated.back() = written.node;
    } else if (!written.node.empty() && pod.nominated_node.empty()) {
      if (pod.unscheduled_reason == "Unschedulable") {
        note_refusal(i, written);
      } else {  // of the extender or of the bind: it says nothing about the node
        has_failed = true;
      }
      written.node.clear();
    }
    memory_.nominations.emplace(pod.meta.uid, std::move(written));
  }
  note_failed_start(has_failed);
  return std::move(out_);
}

// Binds were held and have failed, because kube-scheduler refuses some of the pods that did not
// come. Only their condition shows it: kube-scheduler neither retries them nor clears their
// nomination until something changes that its plugins wait for. A pod whose bind was held may have
// an old condition of this kind; its nomination is cleared, but not at the same moment.
void Attempts::note_failed_start(bool has_failed) {
  if (has_failed) {
    ++memory_.failures;
    memory_.not_before = now_ + delay_after(memory_.failures);
    if (!memory_.failed_at) memory_.failed_at = now_;
  }
  if (!memory_.failed_at || now_ < *memory_.failed_at + kJudgeStart) return;
  const SysTime failed_at = *memory_.failed_at;
  memory_.failed_at.reset();
  for (std::size_t i = 0; i < seen_.pending.size(); ++i) {
    const kube::Pod& pod = *seen_.pending[i].pod;
    const auto written = memory_.nominations.find(pod.meta.uid);
    const bool did_not_come = written != memory_.nominations.end() &&
                              written->second.at < failed_at && !pod.nominated_node.empty() &&
                              pod.nominated_node == written->second.node;
    const bool is_refused =
        pod.unscheduled_reason == "Unschedulable" &&
        !says_gang_waits(pod.unscheduled_message, describe_foreign(*seen_.group));
    if (!did_not_come || !is_refused || is_no_nodes_fault(pod.unscheduled_message)) continue;
    avoid(i, pod.nominated_node);
    memory_.failures = 0;
    memory_.not_before = now_;
  }
}

// kube-scheduler also clears the nomination if the attempt began before it: the proof is a message
// that names the node, or a second failure.
void Attempts::note_refusal(std::size_t i, ForeignMemory::Nomination& nomination) {
  const kube::Pod& pod = *seen_.pending[i].pod;
  if (says_gang_waits(pod.unscheduled_message, describe_foreign(*seen_.group)) ||
      is_no_nodes_fault(pod.unscheduled_message)) {
    return;
  }
  if (nomination.refused_on != nomination.node) nomination.strikes = 0;
  nomination.refused_on = nomination.node;
  const std::string& said = pod.unscheduled_message;
  nomination.strikes += names_refused_node(said, nomination.node) ? kSure : 1;
  if (nomination.strikes < kSure) return;
  nomination.strikes = 0;
  avoid(i, nomination.node);
}

// Avoids the node once if several pods were refused there in one start.
void Attempts::avoid(std::size_t i, const std::string& node) {
  const kube::Pod& pod = *seen_.pending[i].pod;
  const std::string set(sets_[i]);
  out_.is_refused[i] = true;
  // Others of its kind that are nominated there may be accepted.
  int others = 0;
  for (std::size_t k = 0; k < seen_.pending.size(); ++k) {
    const bool is_there = seen_.pending[k].pod->nominated_node == node && !out_.is_refused[k];
    if (is_there && sets_[k] == sets_[i]) ++others;
  }
  const auto known = std::find_if(
      memory_.avoid.begin(), memory_.avoid.end(), [&](const gang::AvoidedNode& avoided) {
        return avoided.set == set && avoided.node == node && avoided.until > now_;
      });
  if (known == memory_.avoid.end()) {
    gang::avoid_node(memory_.avoid, set, node, others, now_);
  } else {
    known->at_most = std::min(known->at_most, others);
  }
  memory_.refusal = cut_text(fmt::format("kube-scheduler refused {} on node {}: {}", pod.meta.name,
                                         node, pod.unscheduled_message),
                             kLongestRefusal);
}

}  // namespace

ForeignAttempts note_attempts(const ForeignGangSeen& seen, std::span<const std::string_view> sets,
                              SysTime now, ForeignMemory::Gang& memory) {
  return Attempts(seen, sets, now, memory).note();
}

std::optional<SysTime> find_next_judgement(const ForeignMemory::Gang& memory) {
  return memory.failed_at ? std::optional(*memory.failed_at + kJudgeStart) : std::nullopt;
}

}  // namespace nervex::planner
