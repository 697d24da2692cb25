#include "kube/client.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <chrono>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/http/client.h"
#include "base/text.h"
#include "kube/auth/identity.h"
#include "kube/model/protobuf.h"
#include "kube/model/watch.h"

namespace nervex::kube {
namespace {

using namespace std::chrono_literals;
using std::chrono::seconds;
using Headers = std::map<std::string, std::string>;

// Bookmarks come about once a minute: a longer silence means that the connection is half open.
constexpr auto kWatchSilence = 150s;

constexpr int kMaxTries = 3;

std::optional<seconds> read_retry_after(const HttpResponse& response) {
  const auto header = response.headers.find("retry-after");
  if (header == response.headers.end()) return std::nullopt;
  return parse_retry_after(header->second, SystemClock().now());
}

// The Error for a non-2xx reply.
Error response_error(const std::string& context, const HttpResponse& response) {
  Error error = status_error(context, response.status, response.body);
  if (error.code == Code::kTransient) error.retry_after = read_retry_after(response);
  return error;
}

std::string describe_request(std::string_view method, std::string_view path) {
  return fmt::format("{} {}", method, path.substr(0, path.find('?')));
}

// A POST without effects, a dry run or a review: always safe to send again.
bool stores_nothing(const ApiRequest& request) {
  const std::string_view path = request.path;
  const bool is_review = path.substr(0, path.find('?')).ends_with("reviews");
  return request.method == "POST" && (is_review || path.find("dryRun=All") != path.npos);
}

// https://host:port/prefix: some gateways serve several clusters on one host.
struct SplitUrl {
  std::string server;
  std::string prefix;
};

SplitUrl split_url(const std::string& url) {
  const auto scheme = url.find("://");
  const auto path = scheme == std::string::npos ? std::string::npos : url.find('/', scheme + 3);
  if (path == std::string::npos) return {url, ""};
  std::string prefix = url.substr(path);
  while (prefix.ends_with('/')) prefix.pop_back();
  return {url.substr(0, path), prefix};
}

HttpClientOptions http_options(const ConnectionConfig& config) {
  HttpClientOptions options;
  options.url = split_url(config.url).server;
  options.ca = config.ca;
  options.client_cert = config.client_cert;
  options.client_key = config.client_key;
  options.server_name = config.server_name;
  options.accepts_any_certificate = config.accepts_any_certificate;
  options.proxy = config.proxy_url;
  options.headers = config.impersonation;
  options.read_timeout = config.request_timeout;
  options.write_timeout = config.request_timeout;
  options.pool_size = config.connections;
  options.connect_timeout = std::min(options.connect_timeout, config.request_timeout);
  return options;
}

// ---- Retry-After

constexpr seconds kMaxRetryAfter = std::chrono::hours(1);  // longer waits are cut to this
constexpr std::array<std::string_view, 12> kMonths{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                   "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

seconds clamp(seconds wait) { return std::clamp(wait, seconds(0), kMaxRetryAfter); }

std::optional<seconds> parse_seconds(std::string_view text) {
  if (!is_digits(text)) return std::nullopt;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc()
             ? clamp(seconds(std::min(value, std::int64_t{kMaxRetryAfter.count()})))
             : kMaxRetryAfter;
}

// "Sun, 06 Nov 1994 08:49:37 GMT": fixed positions. Ignores the weekday.
std::optional<SysTime> parse_http_date(std::string_view text) {
  constexpr std::string_view kForm = "Sun, 06 Nov 1994 08:49:37 GMT";
  if (text.size() != kForm.size() || text.substr(3, 2) != ", " || !text.ends_with(" GMT")) {
    return std::nullopt;
  }
  const auto month = std::find(kMonths.begin(), kMonths.end(), text.substr(8, 3));
  if (month == kMonths.end()) return std::nullopt;
  const auto parsed =
      parse_rfc3339(fmt::format("{}-{:02}-{}T{}Z", text.substr(12, 4), month - kMonths.begin() + 1,
                                text.substr(5, 2), text.substr(17, 8)));
  if (!parsed) return std::nullopt;
  return *parsed;
}

}  // namespace

std::optional<seconds> parse_retry_after(std::string_view text, SysTime now) {
  if (const auto wait = parse_seconds(text)) return wait;
  const auto date = parse_http_date(text);
  if (!date) return std::nullopt;
  return clamp(std::chrono::ceil<seconds>(*date - now));
}

std::optional<seconds> wait_before_repeat(std::string_view method, int status,
                                          std::optional<seconds> retry_after) {
  const bool is_safe = status == 429 || (status >= 500 && method == "GET");
  const bool is_short = retry_after && *retry_after <= kLongestObeyedWait;
  return is_safe && is_short ? retry_after : std::nullopt;
}

// ---- Warning

namespace {

// The quoted text that starts at `at`; moves `at` behind it.
std::string take_quoted(std::string_view header, std::size_t& at) {
  std::string text;
  for (++at; at < header.size() && header[at] != '"'; ++at) {
    if (header[at] == '\\' && at + 1 < header.size()) ++at;
    text += header[at];
  }
  ++at;
  return text;
}

}  // namespace

std::vector<std::string> parse_warnings(std::string_view header) {
  std::vector<std::string> texts;
  for (auto at = header.find('"'); at < header.size(); at = header.find('"', at)) {
    texts.push_back(take_quoted(header, at));
    const auto next = header.find_first_not_of(' ', at);
    at = std::min(at, header.size());
    if (next == header.npos || header[next] != '"') continue;
    at = next;
    take_quoted(header, at);  // a date may follow
    at = std::min(at, header.size());
  }
  return texts;
}

// ---- requests

struct Client::Impl {
  Impl(const ConnectionConfig& config, std::string agent, RequestObserver seen)
      : http(http_options(config)),
        prefix(split_url(config.url).prefix),
        user_agent(std::move(agent)),
        observer(std::move(seen)),
        call_timeout(config.call_timeout),
        identity(config, http, clock) {}

  MonoTime end_of_call() const {
    return call_timeout ? clock.mono() + *call_timeout : MonoTime::max();
  }

  Headers headers(const Identity::Presented& shown, bool may_be_protobuf) const {
    const std::string accepted = may_be_protobuf ? fmt::format("{},application/json", kProtobufType)
                                                 : std::string("application/json");
    Headers headers{{"Accept", accepted}, {"User-Agent", user_agent}};
    if (!shown.token.empty()) headers.emplace("Authorization", "Bearer " + shown.token);
    return headers;
  }

  Result<HttpResponse> try_once(const ApiRequest& request, const Identity::Presented& shown,
                                MonoTime until) {
    const MonoTime start = clock.mono();
    auto response =
        http.send(request.method, prefix + request.path,
                  headers(shown, request.method == "GET" && asks_protobuf(request.path)),
                  request.body, request.content_type, request.before_sending, until);
    observe(request.method, response ? response->status : 0, start,
            response ? warning_header(*response) : "");
    if (!response || !is_protobuf(*response)) return response;
    auto json = json_of_protobuf(response->body);
    if (!json) return unreadable(json.error());
    response->body = *std::move(json);
    return response;
  }

  static std::string_view warning_header(const HttpResponse& response) {
    const auto header = response.headers.find("warning");
    return header == response.headers.end() ? std::string_view() : header->second;
  }

  bool asks_protobuf(std::string_view path) const { return !is_unreadable && has_protobuf(path); }

  static bool is_protobuf(const HttpResponse& response) {
    const auto type = response.headers.find("content-type");
    return type != response.headers.end() && type->second.starts_with(kProtobufType);
  }

  // A newer server may send what this program cannot decode: use JSON from now on.
  Error unreadable(const Error& error) {
    is_unreadable = true;
    return {Code::kTransient, error.message + ", asking for JSON from now on"};
  }

  // Never repeats a request that may have been executed.
  bool may_repeat(const ApiRequest& request, const HttpResponse& response, MonoTime until) {
    const auto wait =
        wait_before_repeat(request.method, response.status, read_retry_after(response));
    if (!wait || clock.mono() + *wait >= until) return false;
    http.call_limit().sleep_until(clock.mono() + *wait);
    return true;
  }

  void observe(std::string_view method, int status, MonoTime start,
               std::string_view warnings = "") const {
    if (observer) observer({method, status, clock.mono() - start, warnings});
  }

  const SystemClock clock;
  HttpClient http;
  const std::string prefix;
  const std::string user_agent;
  const RequestObserver observer;
  const std::optional<std::chrono::milliseconds> call_timeout;
  Identity identity;
  std::atomic<bool> is_unreadable{false};
};

Client::Client(const ConnectionConfig& config, std::string user_agent, RequestObserver observer)
    : impl_(std::make_unique<Impl>(config, std::move(user_agent), std::move(observer))) {}

Client::~Client() = default;

void Client::end_calls_by(MonoTime deadline) { impl_->http.end_calls_by(deadline); }

Result<std::string> Client::send(const ApiRequest& request) {
  const std::string context = describe_request(request.method, request.path);
  const MonoTime until = impl_->end_of_call();
  bool has_doubted = false;  // of our identity or the server's; one more try may settle it
  bool has_repeated = !stores_nothing(request);
  for (int tries = 1;; ++tries) {
    const auto shown = impl_->identity.present();
    if (!shown) return with_context(context, shown.error());
    auto response = impl_->try_once(request, *shown, until);
    if (!response) {
      if (impl_->identity.failed(response.error()) && !std::exchange(has_doubted, true)) continue;
      const bool has_time = impl_->clock.mono() < until;
      if (has_time && !std::exchange(has_repeated, true)) continue;
      return with_context(context, response.error());
    }
    if (response->status >= 200 && response->status < 300) return std::move(response->body);
    if (response->status == 401 && impl_->identity.refused(*shown) &&
        !std::exchange(has_doubted, true)) {
      continue;  // a 401 was not executed
    }
    if (tries == kMaxTries || !impl_->may_repeat(request, *response, until)) {
      if (request.on_refusal) request.on_refusal(response->status, response->body);
      return response_error(context, *response);
    }
  }
}

Result<Nothing> Client::stream(const std::string& path,
                               const std::function<bool(std::string_view line)>& on_line,
                               std::stop_token stop) {
  const std::string context = describe_request("WATCH", path);
  const auto shown = impl_->identity.present();
  if (!shown) return with_context(context, shown.error());
  const MonoTime start = impl_->clock.mono();
  bool answered = false;
  bool is_protobuf = false;
  const auto on_head = [&](int status, std::string_view content_type) {
    answered = true;
    is_protobuf = content_type.starts_with(kProtobufType);
    impl_->observe("WATCH", status, start);
  };
  std::optional<Error> unreadable;
  const auto on_event = [&](std::string_view bytes) {
    if (!is_protobuf) return on_line(bytes);
    const auto line = json_of_watch_event(bytes);
    if (line) return on_line(*line);
    unreadable = impl_->unreadable(line.error());
    return false;
  };
  auto response =
      impl_->http.stream(impl_->prefix + path, impl_->headers(*shown, impl_->asks_protobuf(path)),
                         kWatchSilence, on_event, stop, on_head);
  if (!answered) impl_->observe("WATCH", 0, start);
  if (!response) {
    impl_->identity.failed(response.error());
    return with_context(context, response.error());
  }
  if (unreadable) return with_context(context, *unreadable);
  if (response->status == 200) return ok();
  if (response->status == 401) impl_->identity.refused(*shown);
  if (is_protobuf) {
    auto json = json_of_protobuf(response->body);
    response->body = json ? *std::move(json) : std::string();
  }
  return response_error(context, *response);
}

}  // namespace nervex::kube
