// base/http/head_check.h - may this request be processed, judged by its head? Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace nervex {

struct Refusal {
  int status = 400;
  std::string reason;  // for the caller and the log
};
using Refused = std::optional<Refusal>;

// Collects the headers that decide where the request ends, what it means, or who sends it.
class HeadCheck {
 public:
  // The head as received. The library decodes %XX in values: what it reads as a length may not be a
  // number to a proxy in front.
  void see_text(std::string_view head);
  // Each header, in any order. `value` is borrowed until check() returns.
  void see_header(std::string_view name, const std::string& value);
  // Refuses chunked and encoded bodies: our callers know their bodies' lengths, and chunks and
  // codings allow request smuggling.
  Refused check(std::string_view method, std::string_view target, bool http_1_1,
                std::size_t max_body_bytes) const;
  // A Connection header asks to close the connection.
  bool asks_for_close() const { return asks_for_close_; }

 private:
  struct Deciding {
    std::string_view name;
    const std::string* value = nullptr;
  };
  Refused check_headers(bool http_1_1, std::size_t max_body_bytes) const;

  Deciding host_{"host"};
  Deciding length_{"content-length"};
  Deciding transfer_encoding_{"transfer-encoding"};
  Deciding content_encoding_{"content-encoding"};
  Deciding expect_{"expect"};
  Deciding authorization_{"authorization"};
  std::string_view repeated_;  // the name of a repeated header
  bool asks_for_close_ = false;
  bool has_encoded_length_ = false;
};

}  // namespace nervex
