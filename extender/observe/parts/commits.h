// extender/observe/parts/commits.h - which gangs of one PodGroup are being committed?
#pragma once

#include <algorithm>
#include <map>
#include <string>

#include "base/error.h"

namespace nervex::extender {

class Commits {
 public:
  struct Commit {
    bool is_running = false;
    Result<Nothing> last = ok();  // the result of the last one that ended
    int number = 0;               // of commits of this gang so far, the running one included
  };

  // The last one of the gang; not running and number 0 if it had none.
  const Commit& get(const std::string& gang) const {
    static const Commit kNone;
    const auto found = by_gang_.find(gang);
    return found == by_gang_.end() ? kNone : found->second;
  }
  bool is_any_running() const {
    return std::any_of(by_gang_.begin(), by_gang_.end(),
                       [](const auto& commit) { return commit.second.is_running; });
  }
  void begin(const std::string& gang) {
    Commit& commit = by_gang_[gang];
    commit = {true, ok(), commit.number + 1};
  }
  void end(const std::string& gang, const Result<Nothing>& result) {
    Commit& commit = by_gang_[gang];
    commit = {false, result, commit.number};
  }

 private:
  std::map<std::string, Commit> by_gang_;
};

}  // namespace nervex::extender
