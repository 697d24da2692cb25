#include "kube/client.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <thread>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/http_client.h"
#include "base/log.h"
#include "base/mutex.h"
#include "kube/model/watch.h"

namespace nervex::kube {
namespace {

using namespace std::chrono_literals;
using Headers = std::map<std::string, std::string>;

constexpr auto kTokenAge = 60s;  // the kubelet rotates projected tokens (kubernetes.md, section 4)

// Bookmarks come about once a minute: a watch that is silent for longer is half open.
constexpr auto kWatchSilence = 150s;

// A 429 was not executed, so waiting and asking again is safe; for longer waits the caller's own
// back-off is the better place.
constexpr int kMaxTries = 3;
constexpr std::chrono::seconds kMaxRetryAfter{2};

std::chrono::seconds retry_after(const HttpResponse& response) {
  const auto header = response.headers.find("retry-after");
  if (header == response.headers.end()) return kMaxRetryAfter + 1s;
  int seconds = 0;
  const std::string& text = header->second;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  const bool is_number = error == std::errc() && end == text.data() + text.size() && seconds >= 0;
  return is_number ? std::chrono::seconds(seconds) : kMaxRetryAfter + 1s;
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
  Impl(const ConnectionConfig& config, std::string agent)
      : http(options_of(config)),
        prefix(split_url(config.url).prefix),
        user_agent(std::move(agent)),
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
    return http.send(request.method, prefix + request.path, *with, request.body,
                     request.content_type);
  }

  // Neither 401 nor 429 was executed, so these may be asked again; nothing else is repeated here.
  bool may_repeat(const HttpResponse& response) {
    if (response.status == 401) return token.drop();
    if (response.status != 429) return false;
    const auto wait = retry_after(response);
    if (wait > kMaxRetryAfter) return false;
    std::this_thread::sleep_for(wait);
    return true;
  }

  HttpClient http;
  const std::string prefix;
  const std::string user_agent;
  Token token;
};

Client::Client(ConnectionConfig config, std::string user_agent)
    : impl_(std::make_unique<Impl>(config, std::move(user_agent))) {}

Client::~Client() = default;

Result<std::string> Client::send(const ApiRequest& request) {
  const std::string context = context_of(request.method, request.path);
  for (int tries = 1;; ++tries) {
    auto response = impl_->try_once(request);
    if (!response) return with_context(context, response.error());
    if (response->status >= 200 && response->status < 300) return std::move(response->body);
    if (tries == kMaxTries || !impl_->may_repeat(*response)) {
      return status_error(context, response->status, response->body);
    }
  }
}

Result<Nothing> Client::stream(const std::string& path,
                               const std::function<bool(std::string_view line)>& on_line,
                               std::stop_token stop) {
  const std::string context = context_of("WATCH", path);
  const auto with = impl_->headers();
  if (!with) return with_context(context, with.error());
  const auto response =
      impl_->http.stream(impl_->prefix + path, *with, kWatchSilence, on_line, std::move(stop));
  if (!response) return with_context(context, response.error());
  if (response->status == 200) return ok();
  if (response->status == 401) impl_->token.drop();
  return status_error(context, response->status, response->body);
}

}  // namespace nervex::kube
