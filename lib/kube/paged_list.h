// kube/paged_list.h - how is a collection too large for one reply read?
#pragma once

#include <functional>
#include <stop_token>
#include <string>
#include <string_view>

#include "kube/api.h"

namespace nervex::kube {

// More pages are no list of an API server: pages of 50 objects would be half a million.
inline constexpr int kMostPages = 10'000;

// Reads pages of `page_size` objects one after another and passes the JSON text of each object to
// `on_item`; its Error ends the list. Returns the list's resourceVersion, or "" if `stop` was
// requested. Names no resourceVersion, so it is a consistent read. kExpired: the later pages have
// expired; start again. kInvalid: a server that never ends the list (kMostPages, or the same page
// again). Memory: one page, as text.
Result<std::string> list_in_pages(
    Api& api, const std::string& path, int page_size,
    const std::function<Result<Nothing>(std::string_view json)>& on_item,
    const std::stop_token& stop = {});

// `path` with another query parameter.
std::string with_query(const std::string& path, const std::string& query);

}  // namespace nervex::kube
