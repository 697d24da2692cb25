// server/fields.h - how does one read a JSON object the way Go's encoding/json does? Pure.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "kube/model/json.h"
#include "kube/model/quantity.h"

namespace nervex::server {

// ASCII letters in lower case.
std::string lower(std::string_view text);

// The member called `key` in any case, an exact match first; nullptr if absent or null.
const Json* field(const Json& object, std::string_view key);

// Each names `path` in its error, which is kInvalid.
Result<std::string> text_field(const Json& object, std::string_view key);  // "" if absent
// 0 if absent. Fails for anything but a JSON integer in 0..most: 2.0 and "2" are none.
Result<int> count_field(const Json& object, std::string_view key, std::string_view path, int most);
// A quantity, as string or number, in its own spelling. "" if absent or zero. Negative ones fail.
Result<std::string> quantity_field(const Json& object, std::string_view key, std::string_view path,
                                   kube::Scale scale);

}  // namespace nervex::server
