#include "server/http/request_body.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"

namespace nervex::server {
namespace {

constexpr const char* kNoObject = "must be a JSON object";
constexpr std::array<std::string_view, 4> kTopKeys{"namespace", "coordinator", "collectors",
                                                   "learners"};
constexpr std::array<std::string_view, 4> kGroupKeys{"replicas", "cpus", "gpus", "memory"};

// An object that keeps only some of its members.
class KnownMembers {
 public:
  explicit KnownMembers(const std::array<std::string_view, 4>& keys) : keys_(&keys) {}

  void see_key(std::string_view key) {
    constexpr std::size_t kLongest = 11;  // "coordinator"
    current_ = nullptr;
    if (key.size() > kLongest) return;
    const std::string folded = to_lower(key);
    const auto* known = std::find(keys_->begin(), keys_->end(), folded);
    if (known == keys_->end()) return;
    current_ = known;
    is_exact_ = *known == key;
  }
  // Whether the next value is kept.
  bool is_wanted() const { return current_ != nullptr && (is_exact_ || !has_exact()); }
  void put(Json& object, Json value) {
    if (!is_wanted() || (!is_exact_ && value.is_null())) return;
    if (is_exact_) exact_.at(index()) = true;
    object[std::string(*current_)] = std::move(value);
  }
  std::string_view current() const { return *current_; }

 private:
  std::size_t index() const { return static_cast<std::size_t>(current_ - keys_->begin()); }
  bool has_exact() const { return exact_.at(index()); }

  const std::array<std::string_view, 4>* keys_;
  const std::string_view* current_ = nullptr;
  bool is_exact_ = false;
  std::array<bool, 4> exact_{};
};

// Called by nlohmann's parser (its interface json_sax). False stops parsing.
class BodyReader {
 public:
  explicit BodyReader(int max_items) : max_items_(static_cast<std::size_t>(max_items)) {}

  bool null() { return put(nullptr); }
  bool boolean(bool value) { return put(value); }
  bool number_integer(std::int64_t value) { return put(value); }
  bool number_unsigned(std::uint64_t value) { return put(value); }
  bool number_float(double value, const std::string&) { return put(value); }
  bool string(const std::string& text) {
    if (!is_wanted()) return true;
    return put(text.substr(0, kMaxBodyText + 1));
  }
  bool binary(const Json::binary_t&) { return true; }  // not in JSON texts
  bool key(const std::string& name) {
    if (skipped_ > 0) return true;
    (open_ == 1 ? top_ : members_).see_key(name);
    return true;
  }
  bool start_object(std::size_t) { return start(Json::object()); }
  bool end_object() { return end(); }
  bool start_array(std::size_t) { return start(Json::array()); }
  bool end_array() { return end(); }
  bool parse_error(std::size_t, const std::string&, const Json::exception& error) {
    error_ = kube::not_json(error);
    return false;
  }

  Result<Json> result() && {
    if (error_) return with_context("body", *error_);
    if (!root_.is_object()) return Error{Code::kInvalid, fmt::format("body: {}", kNoObject)};
    return std::move(root_);
  }

 private:
  // Whether the next value is kept.
  bool is_wanted() const {
    if (skipped_ > 0) return false;
    if (open_ == 0) return true;
    if (open_ == 1) return top_.is_wanted();
    return group_->is_object() ? members_.is_wanted() : group_->size() <= max_items_;
  }

  bool put(Json value) {
    if (!is_wanted()) return true;
    if (open_ == 0) {
      root_ = std::move(value);
    } else if (open_ == 1) {
      top_.put(root_, std::move(value));
    } else if (group_->is_object()) {
      members_.put(*group_, std::move(value));
    } else {
      group_->push_back(std::move(value));
    }
    return true;
  }

  bool start(Json container) {
    if (open_ == 0 && !container.is_object()) return fail(kNoObject);
    if (open_ + skipped_ == kube::kMaxJsonDepth) {
      return fail(fmt::format("JSON is nested deeper than {}", kube::kMaxJsonDepth));
    }
    const bool is_kept = is_wanted() && open_ < 2;
    put(std::move(container));
    if (!is_kept) {
      ++skipped_;
    } else if (++open_ == 2) {
      group_ = &root_[std::string(top_.current())];
      members_ = KnownMembers(kGroupKeys);
    }
    return true;
  }

  bool end() {
    if (skipped_ > 0) {
      --skipped_;
    } else {
      --open_;
    }
    return true;
  }

  bool fail(std::string message) {
    error_ = Error{Code::kInvalid, std::move(message)};
    return false;
  }

  const std::size_t max_items_;
  Json root_;
  int open_ = 0;     // open containers that are kept: the root, a group
  int skipped_ = 0;  // open containers within them that are not kept
  KnownMembers top_{kTopKeys};
  Json* group_ = nullptr;  // while two are open: a member of the root
  KnownMembers members_{kGroupKeys};
  std::optional<Error> error_;
};

}  // namespace

Result<Json> parse_request_body(std::string_view body, int max_items) {
  if (body.find_first_not_of(" \t\r\n") == std::string_view::npos) {
    return Error{Code::kInvalid, "the body is empty"};
  }
  // nlohmann takes it for the end of the text and would ignore what follows.
  if (body.find('\0') != std::string_view::npos) {
    return Error{Code::kInvalid, "body: not JSON: it contains a zero byte"};
  }
  BodyReader reader(max_items);
  Json::sax_parse(body, &reader);
  return std::move(reader).result();
}

}  // namespace nervex::server
