// kube/paged_list.h - how is a collection read that is too large for one reply?
#pragma once

#include <functional>
#include <stop_token>
#include <string>
#include <string_view>

#include "kube/api.h"

namespace nervex::kube {

// Asks for pages of `page_size` objects, one after the other, and gives `on_item` the JSON text of
// each object; an Error of it ends the list. Returns the list's resourceVersion, "" if `stop` was
// requested. No resourceVersion is named: a consistent read. kExpired: the later pages were too old
// to be had; begin again. Memory: one page, as text.
Result<std::string> list_in_pages(
    Api& api, const std::string& path, int page_size,
    const std::function<Result<Nothing>(std::string_view json)>& on_item,
    const std::stop_token& stop = {});

// `path` with one more part of a query.
std::string with_query(const std::string& path, const std::string& query);

}  // namespace nervex::kube
