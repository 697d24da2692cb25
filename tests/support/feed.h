// tests/support/feed.h - how stale is a program's cache of a kind? Events up to a chosen version.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "kube/cache/reflector.h"
#include "kube/model/watch.h"
#include "tests/support/fake_api.h"

namespace nervex::testing {

// A Reflector without its thread: delivers in order, as late as the test wants.
class Feed {
 public:
  // `path` is the collection's, optionally with a selector.
  Feed(const FakeApi& api, std::string path, kube::ReflectorSink sink)
      : api_(api), path_(std::move(path)), sink_(std::move(sink)) {}

  // Everything that existed at `version`, which may be in the past: a watch without events since.
  void list(std::int64_t version) {
    std::map<std::string, std::string> objects;
    for (const auto& line : api_.told(path_, 0, version)) {
      const auto event = kube::split_watch_line(line);
      if (!event || event->type == kube::WatchType::kBookmark) continue;
      const std::string key = kube::identify(event->object)->key;
      objects.erase(key);
      if (event->type != kube::WatchType::kDeleted) objects.emplace(key, event->object);
    }
    sink_.begin_list();
    for (const auto& [key, object] : objects) must(sink_.upsert(object));
    sink_.end_list(std::to_string(version));
    position_ = version;
  }

  // The events up to `version`.
  void deliver(std::int64_t version) {
    if (version <= position_) return;
    for (const auto& line : api_.told(path_, position_, version)) {
      const auto event = kube::split_watch_line(line);
      if (!event || event->type == kube::WatchType::kBookmark) continue;
      if (event->type == kube::WatchType::kDeleted) {
        sink_.remove(event->object);
      } else {
        must(sink_.upsert(event->object));
      }
    }
    position_ = version;
  }

  std::int64_t position() const { return position_; }

 private:
  static void must(const Result<Nothing>& done) {
    if (!done) throw std::logic_error(done.error().message);
  }

  const FakeApi& api_;
  const std::string path_;
  const kube::ReflectorSink sink_;
  std::int64_t position_ = 0;
};

}  // namespace nervex::testing
