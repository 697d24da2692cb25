// base/read_file.h - what is in a small file?
#pragma once

#include <cstddef>
#include <string>

#include "base/error.h"

namespace nervex {

// The whole file. kInvalid, naming it and why, if it cannot be read, is none (a folder) or is
// larger than `max_bytes`, as a device without an end is.
Result<std::string> read_file(const std::string& path, std::size_t max_bytes = 16 << 20);

}  // namespace nervex
