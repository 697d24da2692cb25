// tests/support/fake_path.h - which objects does an API server's URL select? Used by FakeApi.
#pragma once

#include <map>
#include <string>

#include "kube/model/json.h"

namespace nervex::testing {

// A parsed URL: "/api/v1/namespaces/a/pods/p/status?dryRun=All".
struct FakePath {
  std::string collection;  // "group/version/plural"
  std::string plural;
  std::string ns;
  std::string name;
  std::string sub_resource;
  std::map<std::string, std::string> query;  // decoded

  std::string key() const { return ns + "/" + name; }
  std::string query_value(const std::string& key) const;  // "" if absent
};

FakePath parse_path(const std::string& url);
// The inverse, for one stored object; `key` is FakePath::key().
FakePath make_fake_path(const std::string& collection, const std::string& key);

// Do the path's namespace, labelSelector and fieldSelector select this object?
bool is_selected(const FakePath& path, const Json& object);

}  // namespace nervex::testing
