#include "base/sip_hash.h"

#include <random>

namespace nervex {

SipHash::Key SipHash::random_key() {
  std::random_device device;
  const auto word = [&] { return std::uint64_t{device()} << 32U | device(); };
  return {word(), word()};
}

}  // namespace nervex
