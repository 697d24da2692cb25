// base/http/head.h - may this request be parsed at all? The gate in front of the HTTP library.
// Pure.
//
// A server's hostile callers speak in the request's head: two lengths, folded lines, bare line
// feeds, endless headers, encodings. This gate reads the head strictly (RFC 9112) and refuses what
// two readers could understand in two ways; what it lets through, it has understood.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace nervex {

struct HttpHeadLimits {
  std::size_t max_target_bytes = 1024;  // the library's query parser is not meant for more
  std::size_t max_head_bytes = 16'384;  // request line and headers
  std::size_t max_headers = 100;
  std::uint64_t max_body_bytes = 1 << 20;
  bool allow_chunked_bodies = true;
};

struct HttpHead {
  std::string method;
  std::string target;
  bool http_1_0 = false;
  std::vector<std::pair<std::string, std::string>> headers;  // names in lower case, in order

  // The first value of a header, or nothing.
  std::optional<std::string_view> find(std::string_view lower_case_name) const;
  // Whether a comma-separated header holds this word, as "connection" holds "close".
  bool has_word(std::string_view lower_case_name, std::string_view lower_case_word) const;
};

struct HttpRefusal {
  int status = 400;
  std::string reason;  // for the caller and the log

  bool operator==(const HttpRefusal&) const = default;
};

// `head` is everything up to and with the empty line.
std::variant<HttpHead, HttpRefusal> read_http_head(std::string_view head,
                                                   const HttpHeadLimits& limits);

struct HttpTarget {
  std::string path;                               // %XX decoded
  std::multimap<std::string, std::string> query;  // %XX decoded, '+' is a space
};

// `target` is HttpHead's. Never fails: a '%' that is not
// followed by two hex digits stands for itself, a name without '=' has an empty value.
HttpTarget split_http_target(std::string_view target);

// What a header's name (also a method) and value may consist of; RFC 9110, 5.
bool is_http_token(std::string_view text);
bool is_http_value(std::string_view text);

}  // namespace nervex
