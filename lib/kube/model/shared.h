// kube/model/shared.h - how do 100,000 cached objects share one copy of their common values?
//
// These behave as values: changes to one copy never show in another. Internally, copies share one
// immutable block, and a changed value first gets its own block. A SharePool (share_pool.h) makes
// equal values share one block too. A member costs 8 bytes; std::string costs 32, std::vector 24
// and std::shared_ptr 16. Copies may live in different threads; one copy belongs to one thread at a
// time, as with int.
//
// Why not a process-wide table of interned strings: it would be a global with its own lock, and
// could not tell when a name is unused. Measured by bench/cache_bench.
#pragma once

#include <algorithm>
#include <atomic>
#include <compare>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace nervex::kube {

// A T or nothing.
template <typename T>
class Shared {
 public:
  Shared() = default;
  Shared(T value) : block_(new Block(std::move(value))) {}  // NOLINT: implicit
  Shared(const Shared& other) : block_(other.block_) { hold(); }
  Shared(Shared&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  Shared& operator=(Shared other) noexcept {
    std::swap(block_, other.block_);
    return *this;
  }
  ~Shared() { release(); }

  explicit operator bool() const { return block_ != nullptr; }
  const T& operator*() const { return block_->value; }    // NOLINT: the analyzer does not follow
  const T* operator->() const { return &block_->value; }  // NOLINT: the count of holders
  void reset() { *this = Shared(); }

  // Access to change this copy alone; an empty one becomes a T().
  T& edit() {
    if (block_ == nullptr) *this = Shared(T());
    if (!is_only()) *this = Shared(T(block_->value));
    return block_->value;
  }
  // No other value holds this block.
  bool is_only() const {
    return block_ != nullptr && block_->holders.load(std::memory_order_acquire) == 1;
  }

  friend bool operator==(const Shared& a, const Shared& b) {
    if (a.block_ == b.block_) return true;
    return a.block_ != nullptr && b.block_ != nullptr && a.block_->value == b.block_->value;
  }

 private:
  struct Block {
    explicit Block(T v) : value(std::move(v)) {}
    std::atomic<std::uint32_t> holders{1};
    T value;
  };

  void hold() {
    if (block_ != nullptr) block_->holders.fetch_add(1, std::memory_order_relaxed);
  }
  void release() {
    if (block_ == nullptr) return;
    // The analyzer takes any answer of an atomic for possible.
    // NOLINTNEXTLINE(clang-analyzer-cplusplus.NewDelete)
    if (block_->holders.fetch_sub(1, std::memory_order_acq_rel) == 1) delete block_;
  }

  Block* block_ = nullptr;
};

// A text that many objects repeat: a namespace, a node's name, a label's key. Reads as a const
// std::string&; assign a new text to change it.
class SharedString {
 public:
  SharedString() = default;
  SharedString(std::string text) {  // NOLINT: implicit, as the three below
    if (!text.empty()) text_ = Shared<std::string>(std::move(text));
  }
  SharedString(std::string_view text) : SharedString(std::string(text)) {}  // NOLINT
  SharedString(const char* text) : SharedString(std::string(text)) {}       // NOLINT

  const std::string& str() const {
    static const std::string kEmpty;
    return text_ ? *text_ : kEmpty;
  }
  operator const std::string&() const { return str(); }  // NOLINT
  operator std::string_view() const { return str(); }    // NOLINT
  const char* c_str() const { return str().c_str(); }
  bool empty() const { return !text_; }  // an empty text has no block
  std::size_t size() const { return str().size(); }
  bool starts_with(std::string_view prefix) const { return str().starts_with(prefix); }

  friend bool operator==(const SharedString& a, const SharedString& b) = default;
  friend std::strong_ordering operator<=>(const SharedString& a, const SharedString& b) {
    return a.str() <=> b.str();
  }
  template <std::convertible_to<std::string_view> T>
  friend bool operator==(const SharedString& a, const T& b) {
    return std::string_view(a.str()) == std::string_view(b);
  }
  template <std::convertible_to<std::string_view> T>
  friend std::strong_ordering operator<=>(const SharedString& a, const T& b) {
    return std::string_view(a.str()) <=> std::string_view(b);
  }
  friend std::string operator+(const SharedString& a, std::string_view b) {
    return std::string(a.str()).append(b);
  }
  friend std::string operator+(std::string a, const SharedString& b) {
    return std::move(a.append(b.str()));
  }
  friend std::ostream& operator<<(std::ostream& out, const SharedString& text) {
    return out << text.str();
  }

 private:
  friend class SharePool;
  Shared<std::string> text_;
};

// A vector that many objects repeat. Reads as one; change it with push_back() or edit().
template <typename T>
class SharedVector {
 public:
  SharedVector() = default;
  SharedVector(std::vector<T> items) {  // NOLINT: implicit
    if (!items.empty()) items_ = Shared<std::vector<T>>(std::move(items));
  }
  SharedVector(std::initializer_list<T> items) : SharedVector(std::vector<T>(items)) {}

  const std::vector<T>& items() const {
    static const std::vector<T> kNone;
    return items_ ? *items_ : kNone;
  }
  operator const std::vector<T>&() const { return items(); }  // NOLINT: implicit
  auto begin() const { return items().begin(); }
  auto end() const { return items().end(); }
  bool empty() const { return !items_ || items_->empty(); }
  std::size_t size() const { return items_ ? items_->size() : 0; }
  const T& operator[](std::size_t i) const { return items()[i]; }
  const T& front() const { return items().front(); }
  const T& back() const { return items().back(); }

  void push_back(T item) { edit().push_back(std::move(item)); }
  void clear() { items_.reset(); }
  std::vector<T>& edit() { return items_.edit(); }

  friend bool operator==(const SharedVector& a, const SharedVector& b) {
    if (a.empty() || b.empty()) return a.empty() && b.empty();
    return a.items_ == b.items_;
  }

 private:
  friend class SharePool;
  Shared<std::vector<T>> items_;
};

// {"key": "text"}, sorted by key: labels and annotations. Function names follow std::map.
class StringMap {
 public:
  struct Entry {
    SharedString first;
    SharedString second;
    bool operator==(const Entry&) const = default;
  };
  using const_iterator = std::vector<Entry>::const_iterator;

  StringMap() = default;
  StringMap(std::initializer_list<std::pair<std::string_view, std::string_view>> entries);

  const_iterator begin() const { return entries_.items().begin(); }
  const_iterator end() const { return entries_.items().end(); }
  bool empty() const { return entries_.empty(); }
  std::size_t size() const { return entries_.size(); }
  const_iterator find(std::string_view key) const;
  bool contains(std::string_view key) const { return find(key) != end(); }
  std::size_t count(std::string_view key) const { return contains(key) ? 1 : 0; }

  SharedString& operator[](std::string_view key);     // valid until the next change
  void emplace(SharedString key, SharedString text);  // keeps an existing entry
  template <typename Iterator>
  void insert(Iterator first, Iterator last) {
    for (; first != last; ++first) emplace(first->first, first->second);
  }
  void clear() { entries_.clear(); }

  bool operator==(const StringMap&) const = default;

 private:
  friend class SharePool;
  SharedVector<Entry> entries_;
};

}  // namespace nervex::kube

template <>
struct fmt::formatter<nervex::kube::SharedString> : fmt::formatter<std::string_view> {
  template <typename Context>
  auto format(const nervex::kube::SharedString& text, Context& context) const {
    return fmt::formatter<std::string_view>::format(text.str(), context);
  }
};
