// kube/token_file.h - the bearer token that somebody else keeps fresh in a file.
#pragma once

#include <optional>
#include <string>

#include "base/clock.h"
#include "base/mutex.h"

namespace nervex::kube {

// Read again when it is a minute old (the kubelet renews projected tokens at 80 % of their life),
// and after the server refused it. Thread-safe.
class TokenFile {
 public:
  TokenFile(std::string file, const Clock& clock) : file_(std::move(file)), clock_(clock) {}

  // kTransient while the file has never been readable; afterwards the old token does.
  Result<std::string> get();
  // The server did not like it.
  void drop();

 private:
  std::optional<std::string> fresh_value();

  const std::string file_;
  const Clock& clock_;
  Mutex mutex_;
  std::string value_ GUARDED_BY(mutex_);
  std::optional<MonoTime> read_at_ GUARDED_BY(mutex_);
};

}  // namespace nervex::kube
