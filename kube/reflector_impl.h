// kube/reflector_impl.h - the body of sink_into(); included by kube/reflector.h only.
#pragma once

#include <unordered_set>
#include <utility>

#include "kube/model/watch.h"
#include "kube/reflector.h"

namespace nervex::kube {

template <typename T>
ReflectorSink sink_into(
    Store<T>& store, std::function<Result<T>(std::string_view json)> decode,
    std::function<void(const typename Store<T>::Ptr& before, const typename Store<T>::Ptr& after)>
        changed) {
  using Ptr = typename Store<T>::Ptr;
  const auto tell = [changed = std::move(changed)](const Ptr& before, const Ptr& after) {
    if (changed && before != after) changed(before, after);
  };
  const auto forget = [&store, tell](const ObjectId& id) {
    tell(store.erase(id.key, id.resource_version), nullptr);
  };

  ReflectorSink sink;
  sink.upsert = [&store, tell, forget,
                 decode = std::move(decode)](std::string_view json) -> Result<std::string> {
    auto object = decode(json);
    if (object) {
      std::string key = key_of(*object);
      const auto [before, after] = store.exchange(key, *std::move(object));
      tell(before, after);
      return key;
    }
    if (object.error().code != Code::kNotFound) return object.error();
    const auto id = identify(json);
    if (!id) return id.error();
    forget(*id);
    return id->key;
  };
  sink.remove = [forget](std::string_view json) {
    if (const auto id = identify(json)) forget(*id);
  };
  sink.retain = [&store, tell](const std::vector<std::string>& listed_keys) {
    const std::unordered_set<std::string> listed(listed_keys.begin(), listed_keys.end());
    for (const auto& key : store.keys()) {
      if (listed.count(key) == 0) tell(store.erase(key), nullptr);
    }
  };
  return sink;
}

}  // namespace nervex::kube
