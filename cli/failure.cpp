#include "cli/failure.h"

#include <cstdio>
#include <regex>

#include <fmt/format.h>

#include "base/program.h"
#include "cli/text.h"

namespace nervex::cli {
namespace {

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

bool is_read(const std::string& verb) { return verb == "get" || verb == "list" || verb == "watch"; }

// `User "ann" cannot list resource "nervexjobs" in API group "..." in the namespace "rl"`, as the
// API server's authorizer answers.
std::string suggest_right(const std::string& message) {
  static const std::regex pattern(
      R"re(User "([^"]+)" cannot (\w+) resource "([\w/]+)" in API group "([\w.]*)"(?: in the namespace "([\w-]+)")?)re");
  std::smatch match;
  if (!std::regex_search(message, match, pattern)) return "";
  const std::string user = match[1].str();
  const std::string verb = match[2].str();
  const std::string resource = match[3].str() + (match[4].length() > 0 ? "." + match[4].str() : "");
  if (match[5].length() == 0) {
    return fmt::format(
        "you may not {} {} in the whole cluster: name a namespace with -n, or ask for the right",
        verb, resource);
  }
  return fmt::format(
      "you may not {0} {1} in namespace {2}: choose another one with -n, or ask for the role {3} "
      "(kubectl -n {2} create rolebinding NAME --clusterrole={3} --user={4})",
      verb, resource, match[5].str(), is_read(verb) ? "view" : "edit", user);
}

// Without the request that clients put before the answer: "GET /api/v1/nodes: ".
std::string shorten(const std::string& message) {
  static const std::regex request("(GET|POST|PUT|PATCH|DELETE) /\\S*: ");
  return std::regex_replace(message, request, "", std::regex_constants::format_first_only);
}

}  // namespace

std::string suggest(const Error& error) {
  switch (error.code) {
    case Code::kForbidden:
    case Code::kUnauthorized:
      if (has(error.message, ": 401")) {
        return "the API server does not accept the kubeconfig's credentials: log in again";
      }
      return suggest_right(error.message);
    case Code::kNotFound:
      if (has(error.message, "could not find the requested resource")) {
        return "the suite is not installed in this cluster, or not completely: kubectl nervex "
               "doctor tells what is missing";
      }
      if (has(error.message, "namespaces \"")) {
        return "choose another namespace with -n: kubectl get namespaces";
      }
      return has(error.message, "nervexjobs.nervex.sensetime.com")
                 ? "kubectl nervex list shows the jobs of the namespace, with -A those of all"
                 : "";
    case Code::kTransient:
      return "is the API server reachable? kubectl cluster-info";
    case Code::kConflict:
      return has(error.message, "already exists")
                 ? "choose another name (submit --set name=NAME), or delete the old job: "
                   "kubectl nervex delete NAME"
                 : "it was changed at the same time: try again";
    default:
      return "";
  }
}

int fail(const std::string& what, const Error& error) {
  note(fmt::format("{}: {}", what, shorten(error.message)));
  if (const std::string text = suggest(error); !text.empty()) note(text);
  return kExitFailure;
}

void note(const std::string& text) {
  std::fprintf(stderr, "nervexctl: %s\n", printable(text).c_str());
}

}  // namespace nervex::cli
