#include "base/http/reply.h"

#include <array>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "base/http/head.h"

namespace nervex {

namespace {

// The statuses that our servers give. Of any other the number alone has to do (RFC 9112, 4).
constexpr std::array<std::pair<int, std::string_view>, 24> kPhrases{{
    {200, "OK"},
    {201, "Created"},
    {202, "Accepted"},
    {204, "No Content"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {408, "Request Timeout"},
    {409, "Conflict"},
    {410, "Gone"},
    {411, "Length Required"},
    {413, "Content Too Large"},
    {414, "URI Too Long"},
    {415, "Unsupported Media Type"},
    {417, "Expectation Failed"},
    {422, "Unprocessable Content"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {503, "Service Unavailable"},
    {505, "HTTP Version Not Supported"},
}};

std::string_view phrase_of(int status) {
  for (const auto& [known, phrase] : kPhrases) {
    if (known == status) return phrase;
  }
  return "";
}

}  // namespace

std::string http_reply_head(const HttpReply& reply, bool closing) {
  std::string head = fmt::format("HTTP/1.1 {} {}\r\n", reply.status, phrase_of(reply.status));
  const auto out = std::back_inserter(head);
  if (closing) fmt::format_to(out, "Connection: close\r\n");
  // Values may repeat what a caller sent, and must not end their line.
  for (const auto& [name, value] : reply.headers) {
    if (is_http_token(name) && is_http_value(value)) {
      fmt::format_to(out, "{}: {}\r\n", name, value);
    }
  }
  if (is_http_value(reply.content_type)) {
    fmt::format_to(out, "Content-Type: {}\r\n", reply.content_type);
  }
  fmt::format_to(out, "Content-Length: {}\r\n\r\n", reply.body.size());
  return head;
}

}  // namespace nervex
