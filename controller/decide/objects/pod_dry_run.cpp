#include "controller/decide/objects/pod_dry_run.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "controller/decide/attempt/creation_failures.h"
#include "controller/decide/attempt/queueing.h"
#include "controller/decide/reasons.h"
#include "controller/decide/round/condition.h"
#include "controller/decide/round/pod_context.h"
#include "gang/slot.h"
#include "job/pod_manifest.h"
#include "kube/model/pod.h"
#include "kube/model/quantity.h"

namespace nervex::controller {

namespace {

using job::Role;
using std::chrono::milliseconds;

constexpr std::chrono::seconds kAskAgainAfter{60};
constexpr std::size_t kMaxWords = 500;  // of one role
constexpr std::array<Role, 4> kRolesOfGang{Role::kCoordinator, Role::kAggregator, Role::kCollector,
                                           Role::kLearner};

const gang::GangStatus* base_gang(const Round& round) {
  if (round.attempt.group == nullptr) return nullptr;
  return gang::find_gang(round.attempt.group->status, gang::kBaseGang);
}

}  // namespace

bool waits_for_capacity(const Round& round) {
  const gang::GangStatus* base = base_gang(round);
  const bool is_waiting = base != nullptr && !base->planned && !base->reason.empty();
  return is_waiting && round.seen.job.status.phase == job::Phase::kCreated &&
         !round.seen.job.spec.suspend;
}

bool backs_off_after_refusal(const Observed& seen) {
  const job::Status& status = seen.job.status;
  return is_backing_off(seen) && has_failed_creation(status) && status.last_attempt &&
         status.phase == job::Phase::kCreated && !seen.job.spec.suspend;
}

namespace {

// A back-off is not checked sooner: if the dry run misses the cause, the job would be created and
// refused again at once.
SysTime first_due(const Observed& seen) {
  return backs_off_after_refusal(seen) ? seen.job.status.last_attempt->end_time + kAskAgainAfter
                                       : SysTime{};
}

// kube-scheduler keeps pods back, without a word, whose resource claim does not exist: their gang
// would keep its nodes until its plan expires.
bool starts_with_claims(const Round& round) {
  const gang::GangStatus* base = base_gang(round);
  if (base == nullptr || !base->planned || base->committed) return false;
  const gang::Gang* wanted = gang::find_gang(round.attempt.group->spec, gang::kBaseGang);
  return wanted != nullptr &&
         std::any_of(wanted->members.begin(), wanted->members.end(),
                     [](const auto& set) { return !set.resource_claims.empty(); });
}

}  // namespace

bool are_needs_alone_asked(const Round& round) { return starts_with_claims(round); }

namespace {

bool is_asked_about(const Round& round) {
  return waits_for_capacity(round) || starts_with_claims(round) ||
         backs_off_after_refusal(round.seen);
}

// The answer to the current question; null: none yet.
const DryRunReport* current_report(const Round& round) {
  const auto& report = round.seen.dry_run;
  return report && report->subject == dry_run_subject(round) ? &*report : nullptr;
}

bool may_change(const DryRunReport& report) {
  return report.is_answered && (report.is_incomplete || !report.refusals.empty());
}

const gang::EnlargedSet* enlarged_set(const gang::PodGroup& group, const gang::MemberSet& set) {
  for (const gang::EnlargedSet& known : group.status.enlarged) {
    if (known.set == set.name && known.answer >= set.admitted.answer) return &known;
  }
  return nullptr;
}

// The planner counts the base gang's pods as larger than the spec says.
bool counts_as_enlarged(const Round& round) {
  if (round.attempt.group == nullptr) return false;
  const gang::PodGroup& group = *round.attempt.group;
  const gang::Gang* base = gang::find_gang(group.spec, gang::kBaseGang);
  if (base == nullptr) return false;
  return std::any_of(base->members.begin(), base->members.end(), [&](const auto& set) {
    const gang::EnlargedSet* known = enlarged_set(group, set);
    return !set.admitted.requests.empty() || (known != nullptr && !known->requests.empty());
  });
}

bool is_over_quota(const Round& round) {
  const gang::GangStatus* base = base_gang(round);
  return base != nullptr && base->reason == gang::kReasonOverQuota;
}

bool is_asked_again(const Round& round, const DryRunReport& report) {
  const bool is_blocked =
      !report.missing.empty() || (report.exceeded_quota && !is_over_quota(round));
  return may_change(report) || (report.is_answered && (is_blocked || counts_as_enlarged(round)));
}

const WantedSlot* first_slot(const Round& round, Role role) {
  const auto& slots = round.slots.all();
  const auto at = std::find_if(slots.begin(), slots.end(), [role](const WantedSlot& slot) {
    return slot.role == role && slot.entry() == nullptr && !slot.is_over;
  });
  return at == slots.end() ? nullptr : &*at;
}

}  // namespace

// -- what is asked, and when

std::string dry_run_subject(const Round& round) {
  const auto& config = round.seen.aggregator_config;
  const gang::GangStatus* base = base_gang(round);
  return fmt::format("{}/{}/{}/{}{}{}", round.seen.job.status.attempt,
                     round.seen.job.meta.generation,
                     config ? std::string_view(config->meta.resource_version) : "-",
                     base == nullptr ? 0 : base->refusals.count, is_over_quota(round) ? "q" : "",
                     are_needs_alone_asked(round) ? "c" : "");
}

Actions dry_run_steps(const Round& round) {
  if (!is_asked_about(round)) return {};
  const DryRunReport* report = current_report(round);
  const bool is_due = report == nullptr ? round.seen.now >= first_due(round.seen)
                                        : is_asked_again(round, *report) &&
                                              round.seen.now >= report->asked + kAskAgainAfter;
  if (!is_due) return {};
  return {DryRunPods{dry_run_subject(round), round.seen.now}};
}

bool is_refusal_over(const Round& round) {
  if (!backs_off_after_refusal(round.seen)) return false;
  const DryRunReport* report = current_report(round);
  return report != nullptr && report->is_answered && !may_change(*report) && !report->is_untold &&
         report->asked >= first_due(round.seen);
}

std::optional<milliseconds> time_until_dry_run(const Round& round) {
  if (!is_asked_about(round)) return std::nullopt;
  const DryRunReport* report = current_report(round);
  if (report != nullptr && !is_asked_again(round, *report)) return std::nullopt;
  const SysTime due = report == nullptr ? first_due(round.seen) : report->asked + kAskAgainAfter;
  if (due <= round.seen.now) return std::nullopt;  // dry_run_steps() asks
  return due - round.seen.now;
}

std::vector<DryRunPod> pods_to_dry_run(const Round& round) {
  std::vector<DryRunPod> pods;
  if (!is_asked_about(round)) return pods;
  // A job that backs off has no PodGroup.
  const auto* group = round.attempt.group;
  const std::string group_uid = group != nullptr ? group->meta.uid : round.job.meta.uid;
  const job::PodContext context = pod_context(round);
  for (const Role role : kRolesOfGang) {
    const WantedSlot* slot = first_slot(round, role);
    const bool has_template = role != Role::kAggregator || round.seen.aggregator_config != nullptr;
    if (slot == nullptr || !has_template) continue;
    job::PodOrder order;
    order.role = role;
    order.slot = slot->slot;
    order.annotations =
        gang::annotations_for({group_uid, std::string(to_string(role)), slot_id(slot->slot), 0});
    pods.push_back({role, job::pod_manifest(round.job, order, context)});
  }
  return pods;
}

// -- what the answer says

namespace {

// The API server's message, without our prefix and the name of the pod, which does not exist: "POST
// /api/v1/...: 403 pods "dqn-learner-x" is forbidden: ...".
std::string extract_words(const Error& error) {
  std::string_view words = error.message;
  if (words.starts_with("POST ")) {
    words.remove_prefix(std::min(words.find(": ") + 2, words.size()));
    words.remove_prefix(std::min(words.find_first_not_of("0123456789 "), words.size()));
  }
  for (const std::string_view end : {"\" is forbidden: ", "\" is invalid: "}) {
    const auto at = words.find(end);
    if (at == words.npos) continue;
    words.remove_prefix(at + end.size());
    break;
  }
  return cut_text(words, kMaxWords);
}

// "cpu" of "requested: cpu=2,pods=1, used: cpu=1,pods=3, limited: ..."
std::string_view find_part(std::string_view text, std::string_view title) {
  const auto at = text.find(title);
  if (at == text.npos) return "";
  text.remove_prefix(at + title.size());
  return text.substr(0, text.find(", "));
}

// Of "cpu=2,pods=1", by resource.
std::map<std::string_view, std::string_view> amounts_in(std::string_view text) {
  std::map<std::string_view, std::string_view> amounts;
  while (!text.empty()) {
    const std::string_view item = text.substr(0, text.find(','));
    const auto equals = item.find('=');
    if (equals != item.npos) amounts.emplace(item.substr(0, equals), item.substr(equals + 1));
    text.remove_prefix(std::min(item.size() + 1, text.size()));
  }
  return amounts;
}

// The quota admission plugin (Kubernetes 1.36) names each resource that the pod exceeds.
bool can_ever_fit(std::string_view words) {
  const auto limited = amounts_in(find_part(words, "limited: "));
  for (const auto& [resource, amount] : amounts_in(find_part(words, "requested: "))) {
    const auto limit = limited.find(resource);
    if (limit == limited.end()) continue;
    const auto needs = kube::parse_quantity(amount, kube::Scale::kMilli);
    const auto has = kube::parse_quantity(limit->second, kube::Scale::kMilli);
    if (needs && has && *needs > *has) return false;
  }
  return true;
}

constexpr std::string_view kExceededQuota = "exceeded quota: ";

bool is_passing(const Error& error) {
  const bool is_quota = error.message.find(kExceededQuota) != std::string::npos;
  return is_quota && can_ever_fit(error.message);
}

std::string text_between(std::string_view text, std::string_view begin, std::string_view end) {
  const auto at = text.find(begin);
  if (at == text.npos) return "";
  text.remove_prefix(at + begin.size());
  return std::string(text.substr(0, text.find(end)));
}

// The object that a refusal is about, by the words of Kubernetes 1.36.
gang::StartBlocker find_refusing(std::string_view words, std::string message) {
  struct Words {
    std::string_view begin;
    std::string_view end;
    std::string_view kind;
  };
  constexpr std::array<Words, 5> kWords{{{"serviceaccount \"", "\"", "ServiceAccount"},
                                         {"RuntimeClass \"", "\"", "RuntimeClass"},
                                         {"admission webhook \"", "\"", "Webhook"},
                                         {kExceededQuota, ",", "ResourceQuota"},
                                         {"failed quota: ", ":", "ResourceQuota"}}};
  for (const auto& [begin, end, kind] : kWords) {
    std::string name = text_between(words, begin, end);
    if (!name.empty()) return {std::string(kind), std::move(name), std::move(message)};
  }
  const bool is_scope = words.find("insufficient quota to match these scopes") != words.npos;
  return {is_scope ? "ResourceQuota" : "Pod", "", std::move(message)};
}

bool needs_real_run(const Error& error) {
  return error.message.find("does not support dry run") != std::string::npos;
}

// "spec.learner.template", where the pod comes from.
std::string name_source(Role role, const Observed& seen) {
  if (role == Role::kAggregator) return "AggregatorConfig " + seen.aggregator_config_name;
  return fmt::format("spec.{}.template", to_string(role));
}

// Groups roles with the same refusal.
std::string describe_refusals(const DryRunReport& report, const Observed& seen) {
  std::string message;
  std::vector<bool> is_told(report.refusals.size(), false);
  for (std::size_t i = 0; i < report.refusals.size(); ++i) {
    if (is_told[i]) continue;
    const std::string& words = report.refusals[i].words;
    std::string sources;
    for (std::size_t j = i; j < report.refusals.size(); ++j) {
      if (report.refusals[j].words != words) continue;
      is_told[j] = true;
      sources += (sources.empty() ? "" : ", ") + name_source(report.refusals[j].role, seen);
    }
    message += fmt::format("{}{}: {}", message.empty() ? "" : "; ", sources, words);
  }
  return "the API server would refuse the job's pods. " + message;
}

}  // namespace

void add_dry_run_answer(Role role, const Error* error, DryRunReport& report) {
  if (error == nullptr) return;
  if (is_passing(*error)) {
    const std::string words = extract_words(*error);
    report.exceeded_quota = find_refusing(words, fmt::format("{}: {}", to_string(role), words));
    return;
  }
  if (needs_real_run(*error)) {
    report.is_untold = true;
  } else if (is_definite(error->code)) {
    report.refusals.push_back({role, extract_words(*error)});
  } else {
    report.is_incomplete = true;
  }
}

void add_dry_run_size(Role role, std::string_view pod_json, DryRunReport& report) {
  const auto pod = kube::decode_pod(pod_json, {});
  if (pod) report.sizes.push_back({role, kube::without_implicit(pod->requests)});
}

// A first answer counts if it differs from the planner's view; a later one if it differs from the
// previous answer: if pods are enlarged although the dry run says otherwise, the pods are right
// (planner/gang/enlarged.h).
gang::AdmittedPod admitted_pod(const Round& round, const gang::MemberSet& set) {
  const DryRunReport* report = waits_for_capacity(round) ? current_report(round) : nullptr;
  if (report == nullptr || !report->is_answered) return set.admitted;
  const auto size = std::find_if(report->sizes.begin(), report->sizes.end(),
                                 [&](const auto& one) { return to_string(one.role) == set.role; });
  if (size == report->sizes.end()) return set.admitted;
  const bool is_larger = !size->requests.fits_in(set.shape.requests);
  const kube::Resources now = is_larger ? size->requests : kube::Resources();
  const gang::EnlargedSet* known = enlarged_set(*round.attempt.group, set);
  const bool is_first = set.admitted.answer == 0;
  const kube::Resources before =
      is_first && known != nullptr ? known->requests : set.admitted.requests;
  if (now == before) return set.admitted;
  const int last = std::max(set.admitted.answer, known == nullptr ? 0 : known->answer);
  return {last + 1, now};
}

namespace {

// What the answer says is in the way; nullopt: nothing.
std::optional<gang::StartBlocker> find_blocker(const Round& round, const DryRunReport& report) {
  if (!report.refusals.empty()) {
    return find_refusing(report.refusals.front().words, describe_refusals(report, round.seen));
  }
  if (!report.missing.empty()) return report.missing.front();
  return report.exceeded_quota;
}

bool is_resource_claim(std::string_view kind) {
  return kind == "ResourceClaim" || kind == "ResourceClaimTemplate";
}

// Bytes. Below maxLength in schemas/podgroup.json: the API server would refuse the whole spec.
constexpr std::size_t kMaxBlockerMessage = 2'048;

// The numbers of a quota change with each pod.
bool says_the_same(const gang::StartBlocker& a, const gang::StartBlocker& b) {
  if (a.kind != b.kind || a.name != b.name) return false;
  return a.message == b.message || a.kind == "ResourceQuota";
}

}  // namespace

gang::StartCheck check_start(const Round& round, const gang::Gang& base) {
  using State = gang::StartCheck::State;
  if (round.attempt.group == nullptr) return {State::kPending, {}};
  const gang::StartCheck& before = base.start_check;
  const DryRunReport* report = is_asked_about(round) ? current_report(round) : nullptr;
  if (before.state == State::kNone || report == nullptr || !report->is_answered) return before;
  auto blocker = find_blocker(round, *report);
  // The planner counts this quota and waits for it: nothing else is in the way.
  if (blocker && report->exceeded_quota == blocker && is_over_quota(round)) blocker.reset();
  if (blocker) {
    if (!waits_for_capacity(round) && !is_resource_claim(blocker->kind)) return before;
    blocker->message = cut_text(blocker->message, kMaxBlockerMessage);
    if (before.state == State::kBlocked && says_the_same(before.blocker, *blocker)) return before;
    return {State::kBlocked, *std::move(blocker)};
  }
  const bool may_answer =
      report->is_incomplete && round.seen.now < report->first_asked + kLongestCheck;
  return may_answer || !waits_for_capacity(round) ? before : gang::StartCheck{State::kPassed, {}};
}

void report_dry_run(const Round& round, job::Status& status) {
  const auto* known = find_condition(status, kPodsRefused);
  const bool is_told = known != nullptr && known->status;
  if (!waits_for_capacity(round)) {
    const gang::GangStatus* base = base_gang(round);
    if (!is_told || base == nullptr || !base->planned) return;
    set_condition(round.seen, status, kPodsRefused, false, gang::kReasonPlanned,
                  "the gang has its placements: PodsCreated says whether its pods are created");
    return;
  }
  const DryRunReport* report = current_report(round);
  if (report == nullptr || !report->is_answered) return;
  if (!report->refusals.empty()) {
    set_condition(round.seen, status, kPodsRefused, true, kPodsRefused,
                  describe_refusals(*report, round.seen));
  } else if (is_told && !report->is_incomplete) {
    set_condition(round.seen, status, kPodsRefused, false, kPodsAccepted,
                  "the API server would create the job's pods");
  }
}

}  // namespace nervex::controller
