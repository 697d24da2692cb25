// kube/reflector_impl.h - the body of sink_into(); included by kube/reflector.h only.
#pragma once

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

  ReflectorSink sink;
  sink.begin_list = [&store] { store.begin_list(); };
  sink.upsert = [&store, tell,
                 decode = std::move(decode)](std::string_view json) -> Result<Nothing> {
    auto object = decode(json);
    if (object) {
      const std::string key = key_of(*object);
      const auto [before, after] = store.exchange(key, *std::move(object));
      tell(before, after);
      return ok();
    }
    const auto id = identify(json);
    if (!id) return id.error();
    if (object.error().code == Code::kNotFound) {
      tell(store.erase(id->key, id->resource_version), nullptr);
      return ok();
    }
    store.keep(id->key);  // it exists: the last state that could be read is better than none
    return object.error();
  };
  sink.remove = [&store, tell](std::string_view json) {
    const auto id = identify(json);
    if (id) tell(store.erase(id->key, id->resource_version, id->uid), nullptr);
  };
  sink.end_list = [&store, tell](std::string_view version) {
    for (const auto& gone : store.end_list(version)) tell(gone, nullptr);
  };
  return sink;
}

}  // namespace nervex::kube
