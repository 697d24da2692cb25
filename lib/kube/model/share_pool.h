// kube/model/share_pool.h - which values are already stored, so that equal ones can share them?
#pragma once

#include <cstddef>
#include <unordered_set>

#include "kube/model/node.h"
#include "kube/model/pod.h"

namespace nervex::kube {

// Keeps one block per distinct value while anything other than the pool holds it; unused blocks are
// freed whenever the pool has doubled. Not thread-safe; the values it returns are.
class SharePool {
 public:
  // Makes parts of an object share equal values seen before. Cost: a hash look-up for each part.
  void share(Pod& pod);
  void share(Node& node);

  std::size_t size() const;  // values held, for tests

 private:
  // One kind of value.
  template <typename T>
  class Kind {
   public:
    void share(Shared<T>& value);
    std::size_t size() const { return known_.size(); }

   private:
    struct Hash {
      std::size_t operator()(const Shared<T>& value) const;
    };
    void let_go();

    std::unordered_set<Shared<T>, Hash> known_;
    static constexpr std::size_t kFirstSweep = 256;
    std::size_t next_sweep_ = kFirstSweep;
  };

  void share(SharedString& text) { texts_.share(text.text_); }
  void share(StringMap& map);

  Kind<std::string> texts_;
  Kind<OwnerRef> owners_;
  Kind<std::vector<ResourceAmount>> amounts_;
  Kind<std::vector<ContainerState>> containers_;
  Kind<std::vector<Taint>> taints_;
  Kind<std::vector<StringMap::Entry>> label_sets_;
};

// Store finds this function; kinds without one are stored unchanged.
inline void share(Pod& pod, SharePool& pool) { pool.share(pod); }
inline void share(Node& node, SharePool& pool) { pool.share(node); }

}  // namespace nervex::kube
