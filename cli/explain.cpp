#include "cli/explain.h"

#include <fmt/format.h>

#include <map>

#include "cli/advice.h"
#include "cli/pod_problems.h"
#include "cli/roles.h"
#include "cli/text.h"

namespace nervex::cli {
namespace {

constexpr std::size_t kEventsShown = 8;
constexpr std::string_view kIndent = "  ";

std::string section(std::string_view title, const Rows& rows) {
  if (rows.empty()) return "";
  return fmt::format("\n{}\n{}", title, table(rows, kIndent));
}

// "Created (Unschedulable) since 2026-11-21T14:03:12Z, 2 min ago"
std::string phase_line(const JobView& view) {
  const auto& status = view.job.status;
  if (status.phase == job::Phase::kNone) {
    return "none yet; created " + moment(view.job.meta.created, view.now);
  }
  std::string line(to_string(status.phase));
  if (!status.reason.empty()) line += fmt::format(" ({})", printable(status.reason));
  const job::Condition* reached = condition(view, to_string(status.phase), true);
  if (reached != nullptr) line += " since " + moment(reached->last_transition, view.now);
  return line;
}

// "the whole gang", or "request 7 (2 collectors)"
std::string gang_title(const JobView& view, const gang::GangStatus& gang) {
  if (gang.name == gang::kBaseGang) return "the whole gang";
  for (const auto& set : view.group->spec.members) {
    if (set.gang != gang.name) continue;
    const auto count = set.slots.size();
    return fmt::format("{} ({} {}{})", gang.name, count, set.role, count == 1 ? "" : "s");
  }
  return gang.name;
}

// What conditions say is wrong, in the words of who found it.
std::vector<std::string> notes(const JobView& view) {
  std::vector<std::string> notes;
  // Of the gangs' own verdicts the PodGroup is the better source.
  const bool verdict_shown = !waiting_gangs(view).empty();
  for (const auto& [type, status] :
       {std::pair{"Scheduled", false}, std::pair{"PodsCreated", false},
        std::pair{"AggregatorMissing", true}, std::pair{"Failed", true}}) {
    if (verdict_shown && type == std::string_view("Scheduled")) continue;
    const job::Condition* found = condition(view, type, status);
    if (found != nullptr && !found->message.empty()) notes.push_back(printable(found->message));
  }
  return notes;
}

Rows summary(const JobView& view) {
  Rows rows = {{"Phase", phase_line(view)}};
  for (const auto* gang : waiting_gangs(view)) {
    rows.push_back({"Waits", fmt::format("{}, since {}", gang_title(view, *gang),
                                         moment(gang->since, view.now))});
    rows.push_back({"Because", printable(gang->message)});
  }
  for (const auto& note : notes(view)) rows.push_back({"Note", note});
  return rows;
}

Rows plan(const JobView& view) {
  std::map<std::string, std::string> pods_by_node;
  if (!view.group) return {};
  for (const auto& gang : view.group->status.gangs) {
    for (const auto& place : gang.placements) {
      std::string& pods = pods_by_node[place.node];
      pods += fmt::format("{}{}/{}", pods.empty() ? "" : ", ", place.role, place.slot.ordinal);
    }
  }
  Rows rows;
  for (const auto& [node, pods] : pods_by_node) rows.push_back({printable(node), pods});
  return rows;
}

Rows last_events(const JobView& view) {
  Rows rows;
  const auto& events = view.events;
  const std::size_t first = events.size() > kEventsShown ? events.size() - kEventsShown : 0;
  for (std::size_t i = first; i < events.size(); ++i) {
    const EventSeen& event = events[i];
    const std::string times = event.count > 1 ? fmt::format(" (x{})", event.count) : "";
    rows.push_back({duration_since(event.time, view.now) + " ago",
                    event.warning ? "Warning" : "Normal", printable(event.reason),
                    printable(event.message) + times});
  }
  return rows;
}

}  // namespace

std::string explain(const JobView& view) {
  std::string text =
      fmt::format("NerveXJob {}\n{}", view.job.meta.key(), table(summary(view), kIndent));
  text += section("Roles", role_rows(view));
  text += section("Planned nodes", plan(view));
  text += section("Problems", problem_rows(view));
  text += section("Last events", last_events(view));
  return text + "\nWhat to do: " + advice(view) + "\n";
}

}  // namespace nervex::cli
