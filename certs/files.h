// certs/files.h - how are certificates stored in a folder, for users who install them themselves?
#pragma once

#include <string>

#include "base/error.h"
#include "certs/plan.h"

namespace nervex::certs {

// The folder's content: ca.crt (every trusted authority, newest first), ca.key, tls.crt, tls.key.
// Missing files are left empty; kInvalid: a file exists but cannot be read.
Result<StoredCerts> read_folder(const std::string& folder);

// Writes all four files, each completely or not at all, readable only by this user; replaces
// existing files (also the temporary NAME.new). Creates the folder.
Result<Nothing> write_folder(const std::string& folder, const StoredCerts& certs);

}  // namespace nervex::certs
