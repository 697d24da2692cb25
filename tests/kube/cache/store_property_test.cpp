// A store against a model of the API server: for any order in which lists, events, own writes
// and their replies come, it ends equal to the server and is never behind its own program.
#include <deque>
#include <map>
#include <random>

#include <catch2/catch_test_macros.hpp>

#include "kube/cache/store.h"
#include "kube/model/pod.h"

namespace nervex::kube {
namespace {

using State = std::map<std::string, Pod>;  // by key

// An etcd: states by version, one history of events.
struct Server {
  struct Event {
    int version = 0;
    bool is_delete = false;
    Pod pod;  // as it is then, or was last
  };
  State state;
  std::vector<Event> history;
  int version = 0;
  int uids = 0;

  const Event& write(const std::string& name, int content) {
    const std::string key = "a/" + name;
    Pod& pod = state[key];
    if (pod.meta.uid.empty()) pod.meta.uid = "uid-" + std::to_string(++uids);
    pod.meta.ns = "a";
    pod.meta.name = name;
    pod.meta.generation = content;
    pod.meta.resource_version = std::to_string(++version);
    return history.emplace_back(Event{version, false, pod});
  }
  const Event& remove(const std::string& key) {
    Pod last = state.at(key);
    state.erase(key);
    last.meta.resource_version = std::to_string(++version);
    return history.emplace_back(Event{version, true, last});
  }
};

// The program's side: a reflector that is somewhere between list and watch, replies under way, and
// what the program was promised (read-your-writes).
class World {
 public:
  explicit World(unsigned seed) : random_(seed) {}

  void step() {
    switch (below(12)) {
      case 0:
        return foreign_write();
      case 1:
        return foreign_delete();
      case 2:
        return own_write();
      case 3:
        return own_delete();
      case 4:
      case 5:
        return reply();
      case 6:
        return begin_list();
      case 7:
      case 8:
        return list_some();
      default:
        return tell_event();
    }
  }

  // etcd is put back to an earlier state and counts its versions from there.
  void restore(const Server& backup) {
    const int uids = server_.uids;
    server_ = backup;
    server_.uids = uids;  // uids are random in truth: they do not repeat
    replies_.clear();     // their connections broke
    promised_.clear();
    is_listing_ = false;
    position_.reset();  // the reflector notices and lists
  }
  const Server& server() const { return server_; }

  void settle() {
    while (!replies_.empty()) reply();
    if (!position_ && !is_listing_) begin_list();
    while (is_listing_) list_some();
    while (has_news()) tell_event();
  }

  void check_promises() {
    for (const auto& [key, promise] : promised_) {
      INFO(key << " was written by us at " << promise.version);
      const auto seen = store_.get(key);
      if (promise.is_delete) {
        CHECK((!seen || seen->meta.uid != promise.uid));
      } else if (seen) {
        CHECK(std::stoi(seen->meta.resource_version) >= promise.version);
      } else {  // deleted since, and the store has seen it
        CHECK(was_deleted_after(key, promise.version));
      }
    }
  }

  void check_equal() {
    State seen;
    for (const auto& pod : store_.all()) seen[pod->meta.key()] = *pod;
    CHECK(seen == server_.state);
  }

 private:
  struct Reply {
    bool is_delete = false;
    int version = 0;
    Pod pod;
  };
  struct Promise {
    bool is_delete = false;
    int version = 0;
    std::string uid;
  };

  int below(int limit) { return std::uniform_int_distribution<int>(0, limit - 1)(random_); }
  std::string a_name() { return std::string(1, static_cast<char>('p' + below(4))); }
  std::string an_existing_key() {
    if (server_.state.empty()) return "";
    return std::next(server_.state.begin(), below(static_cast<int>(server_.state.size())))->first;
  }

  void foreign_write() { server_.write(a_name(), ++contents_); }
  void foreign_delete() {
    if (const auto key = an_existing_key(); !key.empty()) server_.remove(key);
  }
  void own_write() {
    const auto& event = server_.write(a_name(), ++contents_);
    replies_.push_back({false, event.version, event.pod});
  }
  void own_delete() {
    const auto key = an_existing_key();
    if (key.empty()) return;
    const auto& event = server_.remove(key);
    replies_.push_back({true, event.version, event.pod});
  }
  // Replies of several threads come in any order.
  void reply() {
    if (replies_.empty()) return;
    const auto at = replies_.begin() + below(static_cast<int>(replies_.size()));
    const Reply reply = *at;
    replies_.erase(at);
    const std::string key = reply.pod.meta.key();
    if (reply.is_delete) {
      store_.forget(key, reply.pod.meta.uid);
    } else {
      store_.update(key, reply.pod);
    }
    Promise& promise = promised_[key];
    if (promise.version < reply.version)
      promise = {reply.is_delete, reply.version, reply.pod.meta.uid};
  }

  void begin_list() {
    store_.begin_list();
    is_listing_ = true;
    position_.reset();
    snapshot_.reset();
  }
  void list_some() {
    if (!is_listing_) return;
    if (!snapshot_) {  // the server gets round to it: a consistent read
      snapshot_ = server_;
      unlisted_.clear();
      for (const auto& [key, pod] : snapshot_->state) unlisted_.push_back(pod);
      return;
    }
    if (!unlisted_.empty()) {
      store_.put(unlisted_.front().meta.key(), unlisted_.front());
      unlisted_.pop_front();
      return;
    }
    store_.end_list(std::to_string(snapshot_->version));
    position_ = snapshot_->version;
    is_listing_ = false;
  }
  bool has_news() const { return position_ && *position_ < server_.version; }
  void tell_event() {
    if (is_listing_ || !has_news()) return;
    for (const auto& event : server_.history) {
      if (event.version <= *position_) continue;
      const auto& meta = event.pod.meta;
      if (event.is_delete) {
        store_.erase(meta.key(), meta.resource_version, meta.uid);
      } else {
        store_.put(meta.key(), event.pod);
      }
      position_ = event.version;
      return;
    }
  }
  bool was_deleted_after(const std::string& key, int version) const {
    return std::any_of(server_.history.begin(), server_.history.end(), [&](const auto& event) {
      return event.is_delete && event.version > version && event.pod.meta.key() == key;
    });
  }

  std::mt19937 random_;
  Server server_;
  Store<Pod> store_;
  int contents_ = 0;
  std::deque<Reply> replies_;
  std::map<std::string, Promise> promised_;
  bool is_listing_ = false;
  std::optional<Server> snapshot_;
  std::deque<Pod> unlisted_;
  std::optional<int> position_;  // none: a list is due
};

TEST_CASE("the store is consistent in any order of lists, events, own writes and replies",
          "[kube][store][property]") {
  const unsigned first = std::random_device{}();
  for (unsigned seed = first; seed != first + 3000; ++seed) {
    INFO("seed " << seed);
    World world(seed);
    for (int i = 0; i < 60; ++i) {
      world.step();
      world.check_promises();
    }
    world.settle();
    world.check_promises();
    world.check_equal();
  }
}

TEST_CASE("after etcd was restored from a backup the store becomes equal to it",
          "[kube][store][property]") {
  const unsigned first = std::random_device{}();
  for (unsigned seed = first; seed != first + 1000; ++seed) {
    INFO("seed " << seed);
    World world(seed);
    for (int i = 0; i < 20; ++i) world.step();
    const Server backup = world.server();
    for (int i = 0; i < 40; ++i) world.step();
    world.restore(backup);
    for (int i = 0; i < 40; ++i) world.step();
    world.settle();
    world.check_equal();
  }
}

}  // namespace
}  // namespace nervex::kube
