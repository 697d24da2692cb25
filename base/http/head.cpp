#include "base/http/head.h"

#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>

namespace nervex {

namespace {

using Refused = std::optional<HttpRefusal>;

constexpr std::array<std::string_view, 8> kMethods{"GET",   "HEAD",   "POST",    "PUT",
                                                   "PATCH", "DELETE", "OPTIONS", "TRACE"};

char lower(char c) { return 'A' <= c && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = lower(c);
  return out;
}

// tchar of RFC 9110, 5.6.2.
bool is_token_char(char c) {
  constexpr std::string_view kPunctuation = "!#$%&'*+-.^_`|~";
  return ('0' <= c && c <= '9') || ('a' <= lower(c) && lower(c) <= 'z') ||
         kPunctuation.find(c) != std::string_view::npos;
}

// Tab, and everything from space on but DEL; bytes beyond ASCII are allowed and mean nothing.
bool is_value_char(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte == '\t' || (byte >= ' ' && byte != 0x7F);
}

bool is_target_char(char c) { return '!' <= c && c <= '~'; }

std::string_view trim(std::string_view text) {
  constexpr std::string_view kBlank = " \t";
  const std::size_t begin = text.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
}

// Takes one line off `rest`, up to its CRLF. The caller knows that there is one.
std::string_view take_line(std::string_view& rest) {
  const std::size_t end = rest.find("\r\n");
  const std::string_view line = rest.substr(0, end);
  rest.remove_prefix(end + 2);
  return line;
}

Refused check_method(std::string_view method) {
  if (!is_http_token(method)) return HttpRefusal{400, "the request line is malformed"};
  if (std::find(kMethods.begin(), kMethods.end(), method) == kMethods.end()) {
    return HttpRefusal{501, "the method is not known"};
  }
  return std::nullopt;
}

Refused check_target(std::string_view target, const HttpHeadLimits& limits) {
  if (target.size() > limits.max_target_bytes) return HttpRefusal{414, "the URI is too long"};
  if (!std::all_of(target.begin(), target.end(), is_target_char)) {
    return HttpRefusal{400, "the URI holds characters that must be encoded"};
  }
  if (!target.starts_with('/') && target != "*") {
    return HttpRefusal{400, "the URI does not start with a slash"};
  }
  return std::nullopt;
}

Refused read_request_line(std::string_view line, const HttpHeadLimits& limits, HttpHead& head) {
  const std::size_t first = line.find(' ');
  const std::size_t last = line.rfind(' ');
  if (first == std::string_view::npos || first == last) {
    return HttpRefusal{400, "the request line is malformed"};
  }
  const std::string_view method = line.substr(0, first);
  const std::string_view target = line.substr(first + 1, last - first - 1);
  const std::string_view version = line.substr(last + 1);
  if (auto refused = check_method(method)) return refused;
  if (version != "HTTP/1.1" && version != "HTTP/1.0") {
    return version.starts_with("HTTP/") ? HttpRefusal{505, "only HTTP/1.1 is spoken here"}
                                        : HttpRefusal{400, "the request line is malformed"};
  }
  if (auto refused = check_target(target, limits)) return refused;
  head.method = method;
  head.target = target;
  head.http_1_0 = version == "HTTP/1.0";
  return std::nullopt;
}

Refused read_header(std::string_view line, HttpHead& head) {
  // A name with blanks before the colon, or a folded line, is no token.
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos || !is_http_token(line.substr(0, colon))) {
    return HttpRefusal{400, "a header is malformed"};
  }
  const std::string_view value = trim(line.substr(colon + 1));
  if (!is_http_value(value)) {
    return HttpRefusal{400, "a header holds control characters"};
  }
  head.headers.emplace_back(lower(line.substr(0, colon)), value);
  return std::nullopt;
}

// Each of these decides where the request ends or what it means: never two of one.
Refused check_single(const HttpHead& head) {
  for (const std::string_view name :
       {"host", "content-length", "transfer-encoding", "content-encoding", "expect"}) {
    const auto named = [name](const auto& header) { return header.first == name; };
    if (std::count_if(head.headers.begin(), head.headers.end(), named) > 1) {
      return HttpRefusal{400, fmt::format("header {} is repeated", name)};
    }
  }
  return std::nullopt;
}

Refused check_host(const HttpHead& head) {
  if (head.http_1_0 || head.find("host")) return std::nullopt;
  return HttpRefusal{400, "header host is missing"};
}

Refused check_length(const HttpHead& head, const HttpHeadLimits& limits) {
  const auto text = head.find("content-length");
  if (!text) return std::nullopt;
  const auto is_digit = [](char c) { return '0' <= c && c <= '9'; };
  if (text->empty() || !std::all_of(text->begin(), text->end(), is_digit)) {
    return HttpRefusal{400, "header content-length is not a number"};
  }
  std::uint64_t length = 0;
  const auto parsed = std::from_chars(text->data(), text->data() + text->size(), length);
  if (parsed.ec != std::errc() || length > limits.max_body_bytes) {
    return HttpRefusal{413, fmt::format("the body is larger than {} bytes", limits.max_body_bytes)};
  }
  return std::nullopt;
}

Refused check_transfer_encoding(const HttpHead& head, const HttpHeadLimits& limits) {
  const auto encoding = head.find("transfer-encoding");
  if (!encoding) return std::nullopt;
  if (!limits.allow_chunked_bodies) {
    return HttpRefusal{400, "header transfer-encoding is not accepted: send content-length"};
  }
  // Request smuggling lives on the difference between readers that obey one or the other.
  if (head.find("content-length")) {
    return HttpRefusal{400, "headers content-length and transfer-encoding exclude each other"};
  }
  if (head.http_1_0 || lower(*encoding) != "chunked") {
    return HttpRefusal{400, "header transfer-encoding is not understood"};
  }
  return std::nullopt;
}

Refused check_content_encoding(const HttpHead& head) {
  const auto encoding = head.find("content-encoding");
  if (!encoding || encoding->empty() || lower(*encoding) == "identity") return std::nullopt;
  return HttpRefusal{415, "header content-encoding is not accepted: send the body as it is"};
}

Refused check_expect(const HttpHead& head) {
  const auto expect = head.find("expect");
  if (!expect || expect->empty() || lower(*expect) == "100-continue") return std::nullopt;
  return HttpRefusal{417, "header expect is not understood"};
}

Refused check_headers(const HttpHead& head, const HttpHeadLimits& limits) {
  if (auto refused = check_single(head)) return refused;
  if (auto refused = check_host(head)) return refused;
  if (auto refused = check_transfer_encoding(head, limits)) return refused;
  if (auto refused = check_content_encoding(head)) return refused;
  if (auto refused = check_length(head, limits)) return refused;
  return check_expect(head);
}

}  // namespace

bool is_http_token(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_token_char);
}

bool is_http_value(std::string_view text) {
  return std::all_of(text.begin(), text.end(), is_value_char);
}

std::optional<std::string_view> HttpHead::find(std::string_view lower_case_name) const {
  for (const auto& [name, value] : headers) {
    if (name == lower_case_name) return value;
  }
  return std::nullopt;
}

bool HttpHead::has_word(std::string_view lower_case_name, std::string_view lower_case_word) const {
  for (const auto& [name, value] : headers) {
    if (name != lower_case_name) continue;
    std::string_view rest = value;
    while (!rest.empty()) {
      const std::size_t comma = std::min(rest.find(','), rest.size());
      if (lower(trim(rest.substr(0, comma))) == lower_case_word) return true;
      rest.remove_prefix(std::min(comma + 1, rest.size()));
    }
  }
  return false;
}

std::variant<HttpHead, HttpRefusal> read_http_head(std::string_view head,
                                                   const HttpHeadLimits& limits) {
  HttpHead read;
  if (!head.ends_with("\r\n\r\n")) return HttpRefusal{400, "the head has no end"};
  std::string_view rest = head.substr(0, head.size() - 2);
  if (auto refused = read_request_line(take_line(rest), limits, read)) return *refused;
  while (!rest.empty()) {
    if (read.headers.size() == limits.max_headers) return HttpRefusal{431, "too many headers"};
    if (auto refused = read_header(take_line(rest), read)) return *refused;
  }
  if (auto refused = check_headers(read, limits)) return *refused;
  return read;
}

// -- the target

namespace {

// The byte that "%XX" at the beginning of `text` stands for, or -1.
int escaped_byte(std::string_view text) {
  if (text.size() < 3 || text[0] != '%') return -1;
  int byte = -1;
  const char* end = text.data() + 3;
  const auto parsed = std::from_chars(text.data() + 1, end, byte, 16);
  return parsed.ec == std::errc() && parsed.ptr == end ? byte : -1;
}

std::string decode(std::string_view text, bool plus_is_space) {
  std::string out;
  while (!text.empty()) {
    const int byte = escaped_byte(text);
    const bool is_plus = plus_is_space && text[0] == '+';
    out += byte >= 0 ? static_cast<char>(byte) : is_plus ? ' ' : text[0];
    text.remove_prefix(byte >= 0 ? 3 : 1);
  }
  return out;
}

// Takes what stands before `mark`, and the mark.
std::string_view take_until(std::string_view& text, char mark) {
  const std::size_t end = std::min(text.find(mark), text.size());
  const std::string_view taken = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return taken;
}

}  // namespace

HttpTarget split_http_target(std::string_view target) {
  HttpTarget split;
  split.path = decode(take_until(target, '?'), false);
  while (!target.empty()) {
    std::string_view value = take_until(target, '&');
    if (value.empty()) continue;
    const std::string_view name = take_until(value, '=');
    split.query.emplace(decode(name, true), decode(value, true));
  }
  return split;
}

}  // namespace nervex
