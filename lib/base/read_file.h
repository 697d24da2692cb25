// base/read_file.h - how is a small file read?
#pragma once

#include <cstddef>
#include <string>

#include "base/error.h"

namespace nervex {

// The whole file. kInvalid, with name and reason, if it is unreadable, not a file (a folder), or
// larger than `max_bytes`, such as an endless device.
Result<std::string> read_file(const std::string& path, std::size_t max_bytes = 16 << 20);

}  // namespace nervex
