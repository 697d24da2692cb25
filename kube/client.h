// kube/client.h - the real API server behind kube::Api, over TLS with kept connections.
#pragma once

#include <memory>
#include <string>

#include "kube/api.h"
#include "kube/config.h"

namespace nervex::kube {

// Thread-safe. `user_agent` names the program in the API server's audit log.
class Client final : public Api {
 public:
  Client(ConnectionConfig config, std::string user_agent);
  ~Client() override;
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  Result<std::string> send(const ApiRequest& request) override;
  Result<Nothing> stream(const std::string& path,
                         const std::function<bool(std::string_view line)>& on_line,
                         std::stop_token stop) override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace nervex::kube
