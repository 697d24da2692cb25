#include "kube/model/watch.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "kube/model/json.h"
#include "kube/model/meta.h"
#include "kube/model/scan.h"

namespace nervex::kube {
namespace {

constexpr std::size_t kMaxMessage = 1024;

// What a watch or list reply says about an object or about itself.
struct Head {
  std::string name;
  std::string ns;
  std::string uid;
  std::string resource_version;
  std::string continue_token;
  bool ends_initial_events = false;
};

bool has_end_mark(Value annotations) {
  bool is_end = false;
  each_field(annotations, [&](std::string_view key, Value item) {
    if (key == "k8s.io/initial-events-end") is_end = scan_text(item) == "true";
  });
  return is_end;
}

Head scan_head(Value metadata) {
  Head head;
  each_field(metadata, [&](std::string_view key, Value item) {
    if (key == "name") head.name = scan_text(item);
    if (key == "namespace") head.ns = scan_text(item);
    if (key == "uid") head.uid = scan_text(item);
    if (key == "resourceVersion") head.resource_version = scan_text(item);
    if (key == "continue") head.continue_token = scan_text(item);
    if (key == "annotations") head.ends_initial_events = has_end_mark(item);
  });
  return head;
}

Head scan_object_head(Value object) {
  Head head;
  each_field(object, [&](std::string_view key, Value item) {
    if (key == "metadata") head = scan_head(item);
  });
  return head;
}

bool parse_watch_type(std::string_view text, WatchType& type) {
  if (text == "ADDED") type = WatchType::kAdded;
  if (text == "MODIFIED") type = WatchType::kModified;
  if (text == "DELETED") type = WatchType::kDeleted;
  if (text == "BOOKMARK") type = WatchType::kBookmark;
  return text == "ADDED" || text == "MODIFIED" || text == "DELETED" || text == "BOOKMARK";
}

Error error_event(std::string_view status) {
  const auto parsed = parse_json(status);
  const std::int64_t code = parsed ? int_at(*parsed, {"code"}) : 0;
  return status_error("watch", static_cast<int>(code), status);
}

Code to_error_code(int http_status) {
  switch (http_status) {
    case 401:
      return Code::kUnauthorized;
    case 403:
      return Code::kForbidden;  // may also be the authorizer's: kube/access_review.h asks
    case 404:
      return Code::kNotFound;
    case 408:
    case 429:
      return Code::kTransient;
    case 409:
      return Code::kConflict;
    case 410:
      return Code::kExpired;
    default:
      break;
  }
  return http_status >= 300 && http_status < 500 ? Code::kInvalid : Code::kTransient;
}

// Its target would get our credentials.
bool is_redirect(int http_status) { return http_status >= 300 && http_status < 400; }

// An object too large for etcd gives a 500, and will be too large again: above etcd's own limit
// (1.5 MiB), or above what the API server's etcd client sends (2 MiB).
bool is_too_large(int http_status, std::string_view message) {
  const auto says = [message](std::string_view text) {
    return message.find(text) != std::string_view::npos;
  };
  return http_status >= 500 &&
         (says("request is too large") || says("trying to send message larger than max"));
}

// A Status' own message, else the body's text.
std::string extract_message(std::string_view body, std::string& reason) {
  if (body.starts_with('{')) {
    if (const auto status = parse_json(body)) {
      reason = string_at(*status, {"reason"});
      const std::string message = string_at(*status, {"message"});
      return message.empty() ? reason : message;
    }
  }
  std::string message(first_bytes(body, kMaxMessage));
  while (!message.empty() && (message.back() == '\n' || message.back() == ' ')) message.pop_back();
  return message;
}

}  // namespace

Result<WatchEvent> split_watch_line(std::string_view line) {
  return scan<WatchEvent>("watch line", line, [](Scanned& scanned) -> Result<WatchEvent> {
    std::string type;
    std::string_view object;
    each_field(scanned.root(), [&](std::string_view key, Value item) {
      if (key == "type") type = scan_text(item);
      if (key == "object") object = scanned.original(scan_raw(item));
    });
    if (object.empty()) return Error{Code::kInvalid, "watch line: it has no object"};
    if (type == "ERROR") return error_event(object);
    WatchEvent event;
    event.object = object;
    if (!parse_watch_type(type, event.type)) {
      return Error{Code::kInvalid,
                   fmt::format("watch line: unknown type {}", first_bytes(type, 64))};
    }
    scanned.rewind();
    each_field(scanned.root(), [&](std::string_view key, Value item) {
      if (key != "object") return;
      Head head = scan_object_head(item);
      event.resource_version = std::move(head.resource_version);
      event.ends_initial_events = event.type == WatchType::kBookmark && head.ends_initial_events;
    });
    return event;
  });
}

Result<ListPage> split_list(std::string_view body) {
  return scan<ListPage>("list", body, [](Scanned& scanned) -> Result<ListPage> {
    ListPage page;
    bool has_items = false;
    each_field(scanned.root(), [&](std::string_view key, Value item) {
      if (key == "metadata") {
        Head head = scan_head(item);
        page.resource_version = std::move(head.resource_version);
        page.continue_token = std::move(head.continue_token);
      } else if (key == "items") {
        has_items = true;
        each_item(item, [&](Value element) {
          page.items.push_back(scanned.original(scan_raw(element)));
        });
      }
    });
    if (!has_items) return Error{Code::kInvalid, "list: it has no items"};
    return page;
  });
}

Result<ObjectId> identify(std::string_view json) {
  return scan<ObjectId>("object", json, [](Scanned& scanned) -> Result<ObjectId> {
    Head head = scan_object_head(scanned.root());
    if (head.name.empty()) return Error{Code::kInvalid, "object: metadata.name is missing"};
    return ObjectId{.key = NamespacedName{std::move(head.ns), std::move(head.name)}.to_string(),
                    .uid = std::move(head.uid),
                    .resource_version = std::move(head.resource_version)};
  });
}

Error status_error(std::string_view context, int http_status, std::string_view body) {
  std::string reason;
  std::string said = extract_message(body, reason);
  if (is_redirect(http_status)) said = "the server redirects; redirects are not followed";
  Code code = to_error_code(http_status);
  // An ERROR event may lack the number.
  if (reason == "Expired" || reason == "Gone") code = Code::kExpired;
  if (is_too_large(http_status, said)) code = Code::kInvalid;
  const std::string message = said.empty() ? fmt::format("{}: {}", context, http_status)
                                           : fmt::format("{}: {} {}", context, http_status, said);
  return {code, std::string(first_bytes(message, kMaxMessage))};
}

}  // namespace nervex::kube
