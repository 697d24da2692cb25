#include "server/replies.h"

namespace nervex::server {
namespace {

std::string key_of(const job::CallRecord& record) {
  return record.writer + "#" + std::to_string(record.number);
}

}  // namespace

ReplyState Replies::state_of(const job::CallRecord& record) const {
  const MutexLock lock(mutex_);
  const auto at = states_.find(key_of(record));
  return at == states_.end() ? ReplyState::kUnknown : at->second;
}

void Replies::set(const job::CallRecord& record, ReplyState state) {
  const MutexLock lock(mutex_);
  const std::string key = key_of(record);
  const auto [at, is_new] = states_.emplace(key, state);
  if (!is_new && at->second != ReplyState::kWritten) at->second = state;
  if (!is_new) return;
  order_.push_back(key);
  if (order_.size() <= kMost) return;
  states_.erase(order_.front());
  order_.pop_front();
}

}  // namespace nervex::server
