#include "kube/client.h"

#include <chrono>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/http_client.h"
#include "base/log.h"
#include "base/mutex.h"
#include "kube/model/watch.h"
#include "kube/retry_after.h"

namespace nervex::kube {
namespace {

using namespace std::chrono_literals;
using Headers = std::map<std::string, std::string>;

constexpr auto kTokenAge = 60s;  // the kubelet rotates projected tokens (kubernetes.md, section 4)

// Bookmarks come about once a minute: a watch that is silent for longer is half open.
constexpr auto kWatchSilence = 150s;

constexpr int kMaxTries = 3;

std::optional<std::chrono::seconds> retry_after_of(const HttpResponse& response) {
  const auto header = response.headers.find("retry-after");
  if (header == response.headers.end()) return std::nullopt;
  return parse_retry_after(header->second, SystemClock().now());
}

// What the reply stands for, if it is no 2xx.
Error error_of(const std::string& context, const HttpResponse& response) {
  Error error = status_error(context, response.status, response.body);
  if (error.code == Code::kTransient) error.retry_after = retry_after_of(response);
  return error;
}

std::string context_of(std::string_view method, std::string_view path) {
  return fmt::format("{} {}", method, path.substr(0, path.find('?')));
}

// https://host:port/prefix: some gateways serve several clusters below one host.
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

HttpClientOptions options_of(const ConnectionConfig& config) {
  HttpClientOptions options;
  options.url = split_url(config.url).server;
  options.ca = config.ca;
  options.client_cert = config.client_cert;
  options.client_key = config.client_key;
  options.server_name = config.server_name;
  return options;
}

std::optional<std::string> read_trimmed(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return std::nullopt;
  std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  if (text.empty()) return std::nullopt;
  return text;
}

// The bearer token, read again when it is a minute old and after a 401. Thread-safe.
class Token {
 public:
  Token(std::string fixed, std::string file) : fixed_(std::move(fixed)), file_(std::move(file)) {}

  // Empty: none. kTransient while the token file has never been readable.
  Result<std::string> get() {
    if (file_.empty()) return fixed_;
    if (auto fresh = fresh_value()) return *std::move(fresh);
    const auto text = read_trimmed(file_);  // without the lock; two threads may both read it
    if (!text) log_warn("cannot read the token file", {{"file", file_}});
    MutexLock lock(mutex_);
    if (text) value_ = *text;
    read_at_ = clock_.mono();  // also after a failure: the old token may do for another minute
    if (value_.empty()) return Error{Code::kTransient, "cannot read the token file " + file_};
    return value_;
  }

  // The server did not like it. True if asking again may help.
  bool drop() {
    MutexLock lock(mutex_);
    read_at_.reset();
    return !file_.empty();
  }

 private:
  std::optional<std::string> fresh_value() {
    MutexLock lock(mutex_);
    if (value_.empty() || !read_at_ || clock_.mono() - *read_at_ >= kTokenAge) return std::nullopt;
    return value_;
  }

  const std::string fixed_;
  const std::string file_;
  const SystemClock clock_;
  Mutex mutex_;
  std::string value_ GUARDED_BY(mutex_);
  std::optional<MonoTime> read_at_ GUARDED_BY(mutex_);
};

}  // namespace

struct Client::Impl {
  Impl(const ConnectionConfig& config, std::string agent, RequestObserver seen)
      : http(options_of(config)),
        prefix(split_url(config.url).prefix),
        user_agent(std::move(agent)),
        observer(std::move(seen)),
        token(config.token, config.token_file) {}

  Result<Headers> headers() {
    auto bearer = token.get();
    if (!bearer) return bearer.error();
    Headers headers{{"Accept", "application/json"}, {"User-Agent", user_agent}};
    if (!bearer->empty()) headers.emplace("Authorization", "Bearer " + *bearer);
    return headers;
  }

  Result<HttpResponse> try_once(const ApiRequest& request) {
    const auto with = headers();
    if (!with) return with.error();
    const MonoTime start = clock.mono();
    auto response =
        http.send(request.method, prefix + request.path, *with, request.body, request.content_type);
    observe(request.method, response ? response->status : 0, start);
    return response;
  }

  // Nothing is repeated here that may have been executed; a 401 was not.
  bool may_repeat(const ApiRequest& request, const HttpResponse& response) {
    if (response.status == 401) return token.drop();
    const auto wait = wait_before_repeat(request.method, response.status, retry_after_of(response));
    if (!wait) return false;
    http.call_limit().sleep_until(clock.mono() + *wait);
    return true;
  }

  void observe(std::string_view method, int status, MonoTime start) const {
    if (observer) observer({method, status, clock.mono() - start});
  }

  const SystemClock clock;
  HttpClient http;
  const std::string prefix;
  const std::string user_agent;
  const RequestObserver observer;
  Token token;
};

Client::Client(ConnectionConfig config, std::string user_agent, RequestObserver observer)
    : impl_(std::make_unique<Impl>(config, std::move(user_agent), std::move(observer))) {}

Client::~Client() = default;

void Client::end_calls_by(MonoTime deadline) { impl_->http.end_calls_by(deadline); }

Result<std::string> Client::send(const ApiRequest& request) {
  const std::string context = context_of(request.method, request.path);
  for (int tries = 1;; ++tries) {
    auto response = impl_->try_once(request);
    if (!response) return with_context(context, response.error());
    if (response->status >= 200 && response->status < 300) return std::move(response->body);
    if (tries == kMaxTries || !impl_->may_repeat(request, *response)) {
      return error_of(context, *response);
    }
  }
}

Result<Nothing> Client::stream(const std::string& path,
                               const std::function<bool(std::string_view line)>& on_line,
                               std::stop_token stop) {
  const std::string context = context_of("WATCH", path);
  const auto with = impl_->headers();
  if (!with) return with_context(context, with.error());
  const MonoTime start = impl_->clock.mono();
  bool answered = false;
  const auto on_status = [&](int status) {
    answered = true;
    impl_->observe("WATCH", status, start);
  };
  const auto response = impl_->http.stream(impl_->prefix + path, *with, kWatchSilence, on_line,
                                           std::move(stop), on_status);
  if (!answered) impl_->observe("WATCH", 0, start);
  if (!response) return with_context(context, response.error());
  if (response->status == 200) return ok();
  if (response->status == 401) impl_->token.drop();
  return error_of(context, *response);
}

}  // namespace nervex::kube
