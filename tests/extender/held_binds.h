// tests/extender/held_binds.h - bind calls of a simulated kube-scheduler, without a thread for each
// one that is held.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "extender/bind.h"
#include "extender/holds.h"

namespace nervex::testing {

class HeldBinds {
 public:
  HeldBinds(extender::Binder& binder, extender::Holds& holds) : binder_(binder), holds_(holds) {}

  // What Binder::bind() does until it would wait.
  void begin(const kube::BindArgs& args) {
    auto bind = binder_.prepare(args);
    if (!bind) {
      ended_.emplace_back(bind.error());
    } else if (!bind->call) {
      ended_.push_back(binder_.finish(*bind));
    } else {
      const auto ticket = holds_.begin(*bind->call);
      calls_.insert_or_assign(args.pod_uid, Call{*std::move(bind), ticket});
    }
  }
  // The results of the calls that have come to their end meanwhile.
  std::vector<Result<Nothing>> finish() {
    for (auto at = calls_.begin(); at != calls_.end();) {
      const bool is_held = go_on(at->second);
      at = is_held ? std::next(at) : calls_.erase(at);
    }
    return std::exchange(ended_, {});
  }
  // The node of a pod that is assumed to be bound; "" if it is not.
  std::string node_of(const std::string& pod_uid) const {
    const auto call = calls_.find(pod_uid);
    return call == calls_.end() ? "" : call->second.bind.args.node;
  }

 private:
  struct Call {
    extender::Binder::Bind bind;
    extender::Holds::Ticket ticket = 0;
    bool is_started = false;  // its gang: what is left is to be bound last
  };

  // True: it is held, still.
  bool go_on(Call& call) {
    const auto held = holds_.poll(call.ticket);
    if (!held) return true;
    binder_.learn(call.bind, *held);
    if (!held->result) return end(held->result);
    if (!call.is_started) {
      const auto is_last = binder_.start(call.bind);
      if (!is_last) return end(is_last.error());
      call.is_started = true;
      if (*is_last) {
        call.ticket = holds_.begin(*call.bind.call);
        return go_on(call);
      }
    }
    return end(binder_.finish(call.bind));
  }
  bool end(Result<Nothing> result) {
    ended_.push_back(std::move(result));
    return false;
  }

  extender::Binder& binder_;
  extender::Holds& holds_;
  std::map<std::string, Call> calls_;  // by pod UID
  std::vector<Result<Nothing>> ended_;
};

}  // namespace nervex::testing
