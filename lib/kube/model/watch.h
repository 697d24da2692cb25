// kube/model/watch.h - how are list replies, watch lines and Status errors parsed?
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace nervex::kube {

enum class WatchType { kAdded, kModified, kDeleted, kBookmark };

struct WatchEvent {
  WatchType type = WatchType::kAdded;
  std::string_view object;       // JSON text, a part of the line
  std::string resource_version;  // of the object
  // A bookmark that ends the initial events of a streaming list (KEP-3157).
  bool ends_initial_events = false;
};

// One line of a watch. An ERROR event becomes the Error for its Status (410: kExpired).
Result<WatchEvent> split_watch_line(std::string_view line);

struct ListPage {
  std::vector<std::string_view> items;  // JSON texts, parts of the body
  std::string resource_version;
  std::string continue_token;  // empty: last page
};
Result<ListPage> split_list(std::string_view body);

// The identity of the object in a JSON text. Reads only its metadata.
struct ObjectId {
  std::string key;  // as Meta::key(): "namespace/name", or "name"
  std::string uid;
  std::string resource_version;
  bool operator==(const ObjectId&) const = default;
};
Result<ObjectId> identify(std::string_view json);

// The Error for an HTTP status and a body (a metav1.Status or any text). The message is "<context>:
// <code> <the API's own words>", cut at 1 kB.
Error status_error(std::string_view context, int http_status, std::string_view body);

}  // namespace nervex::kube
