#include "server/http/envelope.h"

#include <nlohmann/json.hpp>

namespace nervex::server {
namespace {

using Ordered = nlohmann::ordered_json;  // the field order is a part of the contract

Ordered to_json(const Listing& listing) {
  return {{"namespace", listing.ns},
          {"coordinator", listing.coordinator},
          {"collectors", listing.collectors},
          {"learners", listing.learners}};
}

HttpReply reply(int status, bool success, std::string_view message, Ordered data) {
  const Ordered body = {{"success", success},
                        {"code", success ? 0 : 1},
                        {"message", message},
                        {"data", std::move(data)}};
  // Messages repeat what callers sent: bytes that are not UTF-8 are replaced, so this cannot throw.
  return {status, body.dump(-1, ' ', false, Ordered::error_handler_t::replace), "application/json"};
}

int status_of(Code code) {
  switch (code) {
    case Code::kInvalid:
      return 400;
    case Code::kForbidden:
      return 403;
    case Code::kNotFound:
      return 404;
    case Code::kConflict:
      return 409;
    case Code::kExpired:
    case Code::kUnauthorized:  // of us, by the API server: may pass
    case Code::kTransient:
    case Code::kInternal:
      break;
  }
  return 200;
}

}  // namespace

HttpReply success(std::string_view message, const Listing& data) {
  return reply(200, true, message, to_json(data));
}

HttpReply success(std::string_view message, const std::vector<Listing>& data) {
  Ordered all = Ordered::array();
  for (const auto& listing : data) all.push_back(to_json(listing));
  return reply(200, true, message, std::move(all));
}

HttpReply failure(const Error& error) {
  return reply(status_of(error.code), false, error.message, nullptr);
}

HttpReply unauthenticated(std::string_view what) {
  HttpReply refused = reply(401, false, what, nullptr);
  refused.headers.emplace("WWW-Authenticate", "Bearer");
  return refused;
}

HttpReply not_implemented(std::string_view what, const std::string& allowed) {
  HttpReply refused = reply(501, false, what, nullptr);
  refused.headers.emplace("Allow", allowed);
  return refused;
}

HttpReply refusal(int status, const std::string& reason) {
  if (status == 503) status = 200;
  if (status == 405) status = 501;
  return reply(status, false, reason, nullptr);
}

}  // namespace nervex::server
