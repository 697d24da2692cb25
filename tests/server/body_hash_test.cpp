#include "server/body_hash.h"

#include <catch2/catch_test_macros.hpp>

namespace nervex::server {

TEST_CASE("a body's hash is its SHA-256", "[server][repeats]") {
  // The examples of FIPS 180-2, and the empty text.
  CHECK(body_hash("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(body_hash("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(body_hash("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq") ==
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

}  // namespace nervex::server
