#include "server/http/envelope.h"

#include "kube/model/json.h"

namespace nervex::server {
namespace {

using kube::append_text;

// The order of the fields is part of the API.
void append(std::string& body, const Listing& listing) {
  body += R"({"namespace":)";
  append_text(body, listing.ns);
  body += R"(,"coordinator":)";
  append_text(body, listing.coordinator);
  body += R"(,"collectors":)";
  kube::append_texts(body, listing.collectors);
  body += R"(,"learners":)";
  kube::append_texts(body, listing.learners);
  body += '}';
}

// `data`: JSON.
HttpReply reply(int status, bool success, std::string_view message, std::string_view data) {
  std::string body = success ? R"({"success":true,"code":0,"message":)"
                             : R"({"success":false,"code":1,"message":)";
  append_text(body, message);
  body += R"(,"data":)";
  body += data;
  body += '}';
  return {status, std::move(body), "application/json"};
}

int to_http_status(Code code) {
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
    case Code::kUnauthorized:  // ours, from the API server: may be temporary
    case Code::kTransient:
    case Code::kInternal:
      break;
  }
  return 200;
}

}  // namespace

HttpReply success(std::string_view message, const Listing& data) {
  std::string one;
  append(one, data);
  return reply(200, true, message, one);
}

HttpReply success(std::string_view message, const std::vector<Listing>& data) {
  std::string all = "[";
  for (const auto& listing : data) {
    if (all.size() > 1) all += ',';
    append(all, listing);
  }
  all += ']';
  return reply(200, true, message, all);
}

std::string without_api_paths(std::string message) {
  for (const std::string_view request : {"GET /", "POST /", "PATCH /", "PUT /", "DELETE /"}) {
    for (auto at = message.find(request); at != message.npos; at = message.find(request, at)) {
      const auto end = message.find(": ", at);
      message.erase(at, end == message.npos ? message.npos : end + 2 - at);
    }
  }
  return message;
}

HttpReply failure(const Error& error) {
  return reply(to_http_status(error.code), false, without_api_paths(error.message), "null");
}

HttpReply unauthenticated(std::string_view what) {
  HttpReply refused = reply(401, false, what, "null");
  refused.headers.emplace("WWW-Authenticate", "Bearer");
  return refused;
}

HttpReply not_implemented(std::string_view what, const std::string& allowed) {
  HttpReply refused = reply(501, false, what, "null");
  refused.headers.emplace("Allow", allowed);
  return refused;
}

HttpReply refusal(int status, const std::string& reason) {
  if (status == 503) status = 200;
  if (status == 405) status = 501;
  return reply(status, false, reason, "null");
}

}  // namespace nervex::server
