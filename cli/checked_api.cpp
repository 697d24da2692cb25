#include "cli/checked_api.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/duration.h"
#include "kube/model/json.h"
#include "kube/model/watch.h"

namespace nervex::cli {
namespace {

// "/apis/GROUP/VERSION/namespaces/NS/PLURAL/NAME/SUB?QUERY", read.
struct Target {
  std::string api_version;         // "GROUP/VERSION"; "": not in an API group
  std::vector<std::string> parts;  // PLURAL, NAME, SUB; still percent-encoded
  bool is_page = false;            // of a list in several replies
};

std::vector<std::string> split_path(std::string_view path) {
  std::vector<std::string> parts;
  while (!path.empty()) {
    path.remove_prefix(1);  // the slash
    const auto end = std::min(path.find('/'), path.size());
    parts.emplace_back(path.substr(0, end));
    path.remove_prefix(end);
  }
  return parts;
}

Target read_target(const std::string& path) {
  const auto query = std::min(path.find('?'), path.size());
  std::vector<std::string> parts = split_path(std::string_view(path).substr(0, query));
  Target target;
  target.is_page = path.find("limit=", query) != std::string::npos;
  const std::size_t prefix = parts.empty() ? 0 : parts[0] == "api" ? 2 : parts[0] == "apis" ? 3 : 0;
  if (prefix == 0 || parts.size() <= prefix) return target;
  target.api_version = prefix == 2 ? parts[1] : parts[1] + "/" + parts[2];
  const bool has_namespace = parts[prefix] == "namespaces" && parts.size() > prefix + 2;
  const auto begin = static_cast<std::ptrdiff_t>(prefix + (has_namespace ? 2 : 0));
  target.parts.assign(parts.begin() + begin, parts.end());
  return target;
}

Error wrong_reply(const kube::ApiRequest& request, const std::string& what) {
  return {Code::kTransient, fmt::format("{} {}: {}", request.method, request.path, what)};
}

// Null: the request has no readable object.
Json read_sent(const kube::ApiRequest& request) {
  if (request.method != "POST" && request.method != "PUT") return {};
  auto sent = kube::parse_json(request.body);
  return sent ? *std::move(sent) : Json();
}

Result<Nothing> check_object(const kube::ApiRequest& request, const Target& target,
                             std::string_view body) {
  const auto reply = kube::parse_json(body);
  if (!reply) return wrong_reply(request, reply.error().message);
  const Json sent = read_sent(request);
  const std::string version = kube::string_at(*reply, {"apiVersion"});
  const std::string kind = kube::string_at(*reply, {"kind"});
  const std::string name = kube::string_at(*reply, {"metadata", "name"});
  const std::string wanted_kind = kube::string_at(sent, {"kind"}, kind);
  if ((!version.empty() && version != target.api_version) ||
      (!kind.empty() && kind != wanted_kind)) {
    return wrong_reply(request, fmt::format("the reply is a {} of {} instead of {}", kind, version,
                                            target.api_version));
  }
  const std::string prefix = kube::string_at(sent, {"metadata", "generateName"});
  const bool is_named = target.parts.size() == 2;
  const std::string wanted =
      is_named ? target.parts[1]
               : kube::percent_encode(kube::string_at(sent, {"metadata", "name"}));
  const bool is_other = wanted.empty()
                            ? !name.starts_with(prefix) || (name.empty() && !prefix.empty())
                            : kube::percent_encode(name) != wanted;
  if (!is_other) return ok();
  return wrong_reply(request, fmt::format("the reply is about {} instead of {}",
                                          name.empty() ? "no object" : '"' + name + '"',
                                          wanted.empty() ? prefix + "..." : '"' + wanted + '"'));
}

}  // namespace

Result<Nothing> check_reply(const kube::ApiRequest& request, std::string_view body) {
  const Target target = read_target(request.path);
  if (target.parts.empty() || request.method == "DELETE") return ok();
  if (target.parts.size() == 1 && request.method == "GET") {
    if (target.is_page) return ok();  // kube::list_in_pages() checks it
    const auto list = kube::split_list(body);
    return list ? ok() : wrong_reply(request, list.error().message);
  }
  return target.parts.size() <= 2 ? check_object(request, target, body) : ok();
}

CheckedApi::CheckedApi(kube::Api& api, std::optional<std::chrono::milliseconds> limit)
    : api_(api), limit_(limit), begin_(SystemClock().mono()) {}

Result<std::string> CheckedApi::send(const kube::ApiRequest& request) {
  auto body = api_.send(request);
  if (!body) {
    const bool is_late = limit_ && SystemClock().mono() - begin_ >= *limit_;
    if (!is_late || body.error().code != Code::kTransient) return body;
    return wrong_reply(request, "no answer within " + format_duration(*limit_));
  }
  if (auto checked = check_reply(request, *body); !checked) return checked.error();
  return body;
}

Result<Nothing> CheckedApi::stream(const std::string& path,
                                   const std::function<bool(std::string_view line)>& on_line,
                                   std::stop_token stop) {
  return api_.stream(path, on_line, std::move(stop));
}

}  // namespace nervex::cli
