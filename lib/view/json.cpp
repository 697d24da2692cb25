#include "view/json.h"

namespace nervex::view {
namespace {

void set_text(Json& object, const char* field, const std::string& text) {
  if (!text.empty()) object[field] = text;
}

void set_time(Json& object, const char* field, const std::optional<SysTime>& time) {
  if (time) object[field] = to_rfc3339(*time);
}

template <typename T>
Json list_json(const std::vector<T>& items, Json (*convert)(const T&)) {
  Json list = Json::array();
  for (const T& item : items) list.push_back(convert(item));
  return list;
}

Json wait_json(const Wait& wait) {
  Json json = {{"subject", to_string(wait.subject)},
               {"since", to_rfc3339(wait.since)},
               {"reason", wait.reason},
               {"message", wait.message}};
  set_text(json, "gang", wait.gang);
  if (!wait.pods.empty()) json["pods"] = wait.pods;
  if (wait.reservation) json["reservation"] = to_json(*wait.reservation);
  return json;
}

Json avoided_json(const gang::AvoidedNode& avoided) {
  return {{"node", avoided.node}, {"set", avoided.set}, {"until", to_rfc3339(avoided.until)}};
}

Json reservation_json(const Reservation& reservation) {
  Json json = {{"pods", reservation.pods}};
  set_time(json, "until", reservation.until);
  if (!reservation.until) json["secondsAfterStart"] = reservation.seconds_after_start;
  return json;
}

Json note_json(const Note& note) { return {{"code", note.code}, {"message", note.message}}; }

Json role_json(const RoleView& role) {
  return {{"role", to_string(role.role)},
          {"wanted", role.wanted},
          {"placed", role.placed},
          {"running", role.counts.active},
          {"succeeded", role.counts.succeeded},
          {"failed", role.counts.failed}};
}

Json node_json(const PlannedNode& node) {
  Json json = {{"name", node.name}, {"slots", node.slots}};
  if (!node.reserved.empty()) json["reserved"] = node.reserved;
  return json;
}

Json problem_json(const PodProblem& problem) {
  using Code = PodProblem::Code;
  Json json = {
      {"pod", problem.pod}, {"code", to_string(problem.code)}, {"message", describe(problem)}};
  set_text(json, "reason", problem.reason);
  set_text(json, "node", problem.node);
  if (problem.code == Code::kContainerFailed) json["exitCode"] = problem.exit_code;
  if (problem.restarts > 0) json["restarts"] = problem.restarts;
  const bool is_limited = problem.tolerated != std::chrono::seconds::max();
  if (problem.code == Code::kNodeUnavailable && is_limited) {
    json["toleratedSeconds"] = problem.tolerated.count();
  }
  return json;
}

Json event_json(const Event& event) {
  return {{"time", to_rfc3339(event.time)},
          {"type", event.is_warning ? "Warning" : "Normal"},
          {"reason", event.reason},
          {"message", event.message},
          {"count", event.count}};
}

}  // namespace

Json to_json(const NodeReservation& reservation) {
  Json json = {{"nodes", reservation.nodes}, {"since", to_rfc3339(reservation.since)}};
  set_time(json, "due", reservation.due);
  for (const NodeReservation::User& user : reservation.users) {
    Json& added = json["usedBy"].emplace_back(Json{{"job", user.job}});
    set_time(added, "until", user.until);
  }
  return json;
}

Json to_json(const JobView& view) {
  Json json = {{"namespace", view.ns},
               {"name", view.name},
               {"time", to_rfc3339(view.now)},
               {"created", to_rfc3339(view.created)},
               {"phase", to_string(view.phase)},
               {"waits", list_json(view.waits, wait_json)},
               {"avoidedNodes", list_json(view.avoided, avoided_json)},
               {"notes", list_json(view.notes, note_json)},
               {"roles", list_json(view.roles, role_json)},
               {"nodes", list_json(view.nodes, node_json)},
               {"problems", list_json(view.problems, problem_json)},
               {"events", list_json(view.events, event_json)},
               {"advice",
                {{"code", to_string(view.advice.code)},
                 {"message", describe(view.advice, view.ns, view.name)}}}};
  if (view.queue != job::QueuePlace{}) {
    Json& queue = json["queue"] = Json::object();
    set_text(queue, "name", view.queue.name);
    if (view.queue.position > 0) queue["position"] = view.queue.position;
  }
  set_text(json, "reason", view.reason);
  set_time(json, "since", view.since);
  set_time(json, "failsAt", view.fails_at);
  if (view.reservation) json["reserved"] = reservation_json(*view.reservation);
  return json;
}

}  // namespace nervex::view
