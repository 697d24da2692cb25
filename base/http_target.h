// base/http_target.h - which path and query does a request line ask for? Pure.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace nervex {

struct HttpTarget {
  std::string path;                               // %XX decoded
  std::multimap<std::string, std::string> query;  // %XX decoded, '+' is a space
};

// `target` is a request line's, as read_http_head() lets it through. Never fails: a '%' that is not
// followed by two hex digits stands for itself, a name without '=' has an empty value.
HttpTarget split_http_target(std::string_view target);

}  // namespace nervex
