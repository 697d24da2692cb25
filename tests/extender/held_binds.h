// tests/extender/held_binds.h - held bind calls of a simulated kube-scheduler, without a thread for
// each.
#pragma once

#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "extender/bind/bind.h"
#include "extender/bind/holds.h"

namespace nervex::testing {

class HeldBinds {
 public:
  HeldBinds(extender::Binder& binder, extender::Holds& holds) : binder_(binder), holds_(holds) {}

  // Binder::bind() up to the point where it would wait.
  void begin(const kube::BindArgs& args) {
    auto bind = binder_.prepare(args);
    if (!bind) {
      refused_.push_back({args.pod_uid, bind.error()});
    } else if (!bind->call) {
      refused_.push_back({args.pod_uid, binder_.finish(*bind)});
    } else {
      const auto ticket = holds_.begin(*bind->call);
      calls_.insert_or_assign(args.pod_uid, Call{*std::move(bind), ticket});
    }
  }
  struct Ended {
    std::string pod_uid;
    Result<Nothing> result;
  };
  // The calls that have ended since.
  std::vector<Ended> finish() {
    for (auto at = left_.begin(); at != left_.end();) {
      at = go_on(*at) ? std::next(at) : left_.erase(at);
    }
    ended_.clear();  // their callers have left
    for (auto at = calls_.begin(); at != calls_.end();) {
      const bool is_held = go_on(at->second);
      at = is_held ? std::next(at) : calls_.erase(at);
    }
    for (Ended& ended : refused_) ended_.push_back(std::move(ended));
    refused_.clear();
    return std::exchange(ended_, {});
  }
  // kube-scheduler was killed. The extender notices it in notice_callers(); a call that may
  // continue before that does.
  void lose_callers() {
    for (auto& [uid, call] : calls_) left_.push_back(std::move(call));
    calls_.clear();
    refused_.clear();
  }
  void notice_callers() {
    for (const Call& call : left_) holds_.leave(call.ticket);
  }
  // The node to which the pod is assumed to be bound; "": none.
  std::string bound_node(const std::string& pod_uid) const {
    const auto call = calls_.find(pod_uid);
    return call == calls_.end() ? "" : call->second.bind.args.node;
  }

 private:
  struct Call {
    extender::Binder::Bind bind;
    extender::Holds::Ticket ticket = 0;
    bool is_started = false;  // its gang has: this pod is bound last
  };

  // True: it is still held.
  bool go_on(Call& call) {
    const auto held = holds_.poll(call.ticket);
    if (!held) return true;
    binder_.learn(call.bind, *held);
    if (!held->result) return end(call, held->result);
    if (!call.is_started) {
      const auto is_last = binder_.start(call.bind);
      if (!is_last) return end(call, is_last.error());
      call.is_started = true;
      if (*is_last) {
        call.ticket = holds_.begin(*call.bind.call);
        return go_on(call);
      }
    }
    return end(call, binder_.finish(call.bind));
  }
  bool end(const Call& call, Result<Nothing> result) {
    ended_.push_back({call.bind.args.pod_uid, std::move(result)});
    return false;
  }

  extender::Binder& binder_;
  extender::Holds& holds_;
  std::map<std::string, Call> calls_;  // by pod UID
  std::vector<Call> left_;             // whose callers have left
  std::vector<Ended> refused_;         // at once
  std::vector<Ended> ended_;
};

}  // namespace nervex::testing
