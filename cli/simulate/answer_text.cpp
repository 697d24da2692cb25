#include "cli/simulate/answer_text.h"

#include <fmt/format.h>

#include <cstdint>
#include <vector>

#include "cli/text.h"

namespace nervex::cli {
namespace {

std::string describe_queue(const Json& status) {
  const std::string name = kube::string_at(status, {"queue", "name"});
  const int position = static_cast<int>(kube::int_at(status, {"queue", "position"}));
  if (position == 0) return name.empty() ? "" : " in queue " + name;
  return fmt::format(" at position {}{}", coarse_position(position),
                     name.empty() ? "" : " of queue " + name);
}

std::string count(std::int64_t number, std::string_view one) {
  return fmt::format("{} {}{}", number, one, number == 1 ? "" : "s");
}

std::string describe_verdict(const std::string& what, const Json& status, bool is_about_nodes) {
  const std::string verdict = kube::string_at(status, {"verdict"});
  std::string message = kube::string_at(status, {"message"});
  if (verdict == "Invalid") return fmt::format("{}: no answer: {}", what, message);
  if (is_about_nodes) return message;
  if (verdict == "Never") return fmt::format("{} would never start: {}", what, message);
  if (verdict == "Waits") {
    return fmt::format("{} would wait{}: {}", what, describe_queue(status), message);
  }
  if (verdict == "Preempts") {
    const std::int64_t victims = kube::int_at(status, {"preempts", "count"});
    return fmt::format("{} would start after {} that it preempts", what, count(victims, "gang"));
  }
  const std::int64_t nodes = kube::int_at(status, {"nodeCount"});
  return fmt::format("{} would start now{}{}", what, describe_queue(status),
                     nodes > 0 ? ", on " + count(nodes, "node") : ": " + message);
}

std::string describe_remedy(const Json& status) {
  const std::string remedy = kube::string_at(status, {"remedy"});
  const std::string cause = kube::string_at(status, {"cause", "code"});
  if (remedy == "AskForLess" && cause == "OverQuota") return "ask for less, or for more quota";
  if (remedy == "AskForLess" && !cause.starts_with("NeverFits")) {
    return "ask for less, or for a larger limit of the queue";
  }
  if (remedy == "AskForLess") return "ask for less: an empty cluster would not suffice";
  if (remedy == "AllowNodes") return "let the pods use more nodes: selectors, tolerations, volumes";
  if (remedy == "OpenNodes") return "uncordon or repair nodes, or wait until others end";
  if (remedy == "FixPods") return "create what the pods need, or change the templates";
  if (remedy == "FixQueue") return "name another queue, or ask an administrator of this one";
  if (remedy == "Wait") return "wait until others end, or ask for less";
  return "";
}

std::string describe_pods(const Json& pods) {
  std::string text;
  for (const auto& [role, number] : pods.items()) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", number.get<int>(), role);
  }
  return text;
}

std::string describe_nodes(const Json& status) {
  const Json& nodes = kube::array_at(status, {"nodes"});
  if (nodes.empty()) return "";
  Rows rows = {{"NODE", "PODS"}};
  for (const Json& node : nodes) {
    const Json* pods = kube::find(node, {"pods"});
    rows.push_back({printable(kube::string_at(node, {"name"})),
                    pods == nullptr ? "" : printable(describe_pods(*pods))});
  }
  std::string text = table(rows, "  ");
  const std::int64_t left =
      kube::int_at(status, {"nodeCount"}) - static_cast<std::int64_t>(nodes.size());
  if (left > 0) text += fmt::format("  and {} more\n", left);
  return text;
}

std::string describe_victims(const Json& status) {
  const Json& gangs = kube::array_at(status, {"preempts", "gangs"});
  if (gangs.empty()) return "";
  std::string names;
  for (const Json& one : gangs) {
    names += fmt::format("{}{} of {}", names.empty() ? "" : ", ", kube::string_at(one, {"gang"}),
                         kube::string_at(one, {"podGroup"}));
  }
  return "In this namespace it would preempt " + printable(names) + ".\n";
}

std::string describe_start(const Json& status) {
  if (kube::string_at(status, {"verdict"}) != "Waits") return "";
  const std::string latest = kube::string_at(status, {"start", "latest"});
  if (latest.empty()) return "";
  return fmt::format(
      "It would start at the latest at {}, if no other job takes these nodes before: then enough "
      "running jobs have reached their time limits.\n",
      printable(latest));
}

std::string describe_most(const Json& status, bool is_growth) {
  if (kube::find(status, {"most"}) == nullptr) return "";
  const std::string role = kube::string_at(status, {"most", "role"});
  const std::int64_t most = kube::int_at(status, {"most", "count"});
  if (most <= 0 && is_growth) return fmt::format("Not one {} more would start now.\n", role);
  if (most < 0) return fmt::format("Not even without {}s would it start now.\n", role);
  const std::string number =
      fmt::format("{} {}", kube::bool_at(status, {"most", "isAtLeast"}) ? "at least" : "at most",
                  count(most, (is_growth ? "more " : "") + role));
  return is_growth ? fmt::format("Now {} would start.\n", number)
                   : fmt::format("With {} it would start now.\n", number);
}

std::string describe_started(const Json& status) {
  const std::int64_t all = kube::int_at(status, {"starts", "count"});
  if (all == 0) return "";
  std::string names;
  for (const Json& job : kube::array_at(status, {"starts", "jobs"})) {
    if (job.is_string()) names += (names.empty() ? "" : ", ") + job.get<std::string>();
  }
  const auto own = static_cast<std::int64_t>(kube::array_at(status, {"starts", "jobs"}).size());
  const std::string others = all > own ? count(all - own, "job") + " of other namespaces" : "";
  return fmt::format("These nodes would start {}{}{}.\n", printable(names),
                     names.empty() || others.empty() ? "" : " and ", others);
}

}  // namespace

std::string describe_answer(const std::string& what, const Json& spec, const Json& status) {
  const bool is_growth = spec.contains("grow");
  const bool is_about_nodes = !is_growth && !spec.contains("job");
  std::string text = printable(describe_verdict(what, status, is_about_nodes)) + "\n";
  text += describe_nodes(status) + describe_victims(status) + describe_start(status) +
          describe_most(status, is_growth) + describe_started(status);
  const std::string remedy = describe_remedy(status);
  return remedy.empty() ? text : text + "What to do: " + remedy + "\n";
}

}  // namespace nervex::cli
