// kube/model/json_hash.h - which hash has a JSON value? Read in place: no text is written.
#pragma once

#include "base/sip_hash.h"
#include "kube/model/json.h"

namespace nervex::kube {

// Adds the value. Different values add different sequences, also beside other values that are
// added by this function or as texts.
void add_json(SipHash& hash, const Json& value);
// Adds the start of an array or object of that many items, as add_json() does. The caller adds the
// items; of an object each key before its value.
void add_array(SipHash& hash, std::size_t items);
void add_object(SipHash& hash, std::size_t members);

}  // namespace nervex::kube
