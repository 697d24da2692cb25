// extender/observe/parts/quota_table.h - which ResourceQuotas does a namespace have?
#pragma once

#include <map>
#include <string>

#include "kube/model/quota.h"
#include "queue/quota.h"

namespace nervex::extender {

class QuotaTable {
 public:
  using ByName = std::map<std::string, queue::QuotaPtr>;

  // Null: no quota before, or none any more.
  void set(const queue::QuotaPtr& before, const queue::QuotaPtr& after) {
    const kube::Meta& meta = (after ? after : before)->meta;
    ByName& quotas = by_namespace_[meta.ns];
    if (after) {
      quotas[meta.name] = after;
    } else {
      quotas.erase(meta.name);
    }
    if (quotas.empty()) by_namespace_.erase(meta.ns);
  }
  bool empty() const { return by_namespace_.empty(); }
  // Null: none.
  const ByName* find(const std::string& ns) const {
    const auto found = by_namespace_.find(ns);
    return found == by_namespace_.end() ? nullptr : &found->second;
  }

 private:
  std::map<std::string, ByName, std::less<>> by_namespace_;
};

}  // namespace nervex::extender
