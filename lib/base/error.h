// base/error.h - how does a function report failure, and what can its caller do about it?
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace nervex {

// One code per way a caller can react, not one per cause.
enum class Code {
  kInvalid,    // the input is wrong; the same input will fail again (HTTP 400, 422)
  kNotFound,   // no such object (404)
  kConflict,   // stale resourceVersion, or the name is taken (409): read again, decide again
  kExpired,    // the watch position is too old (410): list again
  kTransient,  // timeout, 429, 5xx, broken connection: retry with back-off
  // 401, or 403 while the right is missing: both may be temporary (a starting API server answers
  // 403 until its roles are read). Shown and retried, never a reason to end anything.
  kUnauthorized,
  kForbidden,  // other 403s: admission or quota refused it; final, a person must act
  kInternal,   // a bug in this program
};

// "invalid", "not found", ...; for logs.
const char* to_string(Code code);

struct Error {
  Code code = Code::kInternal;
  std::string message;  // lower-case, no full stop: the action, its object, the result
  // How long the other side asked us to wait before a retry; only for kTransient.
  std::optional<std::chrono::seconds> retry_after{};

  bool operator==(const Error&) const = default;
};

// Stands for "no value" in Result<Nothing>.
struct Nothing {
  bool operator==(const Nothing&) const = default;
};

// A T, or an Error. Member names follow C++23 std::expected, so that it can replace this class.
// Reading the wrong alternative throws std::bad_variant_access: check first.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : v_(std::in_place_index<0>, std::move(value)) {}      // NOLINT: implicit
  Result(Error error) : v_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: implicit

  bool has_value() const { return v_.index() == 0; }
  explicit operator bool() const { return has_value(); }
  const T& operator*() const& { return std::get<0>(v_); }
  T& operator*() & { return std::get<0>(v_); }
  T&& operator*() && { return std::get<0>(std::move(v_)); }
  const T* operator->() const { return &std::get<0>(v_); }
  T* operator->() { return &std::get<0>(v_); }
  const Error& error() const { return std::get<1>(v_); }

 private:
  std::variant<T, Error> v_;
};

inline Result<Nothing> ok() { return Nothing{}; }

// Prefixes `message` with `context`: "watch pods: connection refused". Keeps the rest.
Error with_context(std::string_view context, const Error& error);

// For our own bugs, never bad input: logs the place and aborts, so that the kubelet restarts us.
[[noreturn]] void check_failed(const char* expression, const char* file, int line);
#define NERVEX_CHECK(x) ((x) ? void(0) : ::nervex::check_failed(#x, __FILE__, __LINE__))

}  // namespace nervex
