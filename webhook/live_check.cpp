#include "webhook/live_check.h"

#include <chrono>
#include <thread>

#include "base/log.h"
#include "schemas/schemas.h"
#include "webhook/job_schema.h"

namespace nervex::webhook {

Result<Nothing> LiveCheck::load() {
  const auto document = api_.send(
      {.method = "GET", .path = std::string(kCoreOpenApiPath), .body = "", .content_type = ""});
  if (!document) return document.error();
  auto made = make_job_check(schemas::nervex_job(), *document);
  if (!made) return made.error();
  check_.store(*std::move(made));
  return ok();
}

void LiveCheck::load_until_done(std::stop_token stop) {
  while (!stop.stop_requested()) {
    const auto loaded = load();
    if (loaded) return log_info("loaded the cluster's OpenAPI");
    log_warn("cannot load the cluster's OpenAPI", {{"error", loaded.error().message}});
    std::this_thread::sleep_for(std::chrono::seconds(1));
  }
}

std::string LiveCheck::not_ready() const {
  return check_.load() ? "" : "the cluster's OpenAPI is not loaded yet";
}

}  // namespace nervex::webhook
