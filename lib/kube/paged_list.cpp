#include "kube/paged_list.h"

#include <utility>

#include <fmt/format.h>

#include "kube/model/watch.h"

namespace nervex::kube {

std::string with_query(const std::string& path, const std::string& query) {
  return path + (path.find('?') == std::string::npos ? "?" : "&") + query;
}

Result<std::string> list_in_pages(
    Api& api, const std::string& path, int page_size,
    const std::function<Result<Nothing>(std::string_view json)>& on_item,
    const std::stop_token& stop) {
  std::string continue_token;
  for (int pages = 0; !stop.stop_requested(); ++pages) {
    if (pages == kMostPages) {
      return Error{Code::kInvalid, fmt::format("list: it has not ended after {} pages", pages)};
    }
    std::string query = fmt::format("limit={}", page_size);
    if (!continue_token.empty()) query += "&continue=" + percent_encode(continue_token);
    const auto body = api.send({"GET", with_query(path, query), "", ""});
    if (!body) return body.error();
    auto page = split_list(*body);
    if (!page) return page.error();
    for (const auto item : page->items) {
      if (auto taken = on_item(item); !taken) return taken.error();
    }
    if (!continue_token.empty() && page->continue_token == continue_token) {
      return Error{Code::kInvalid, "list: a page names itself as the next one"};
    }
    continue_token = std::move(page->continue_token);
    if (!continue_token.empty()) continue;
    if (page->resource_version.empty()) return Error{Code::kInvalid, "list: no resourceVersion"};
    return std::move(page->resource_version);
  }
  return std::string();
}

}  // namespace nervex::kube
