# shellcheck shell=bash
# cpp-httplib, of one version alone: fetched, checked and built into the cache. Sourced by scripts/setup, never run.

# What all tests and figures are of. base/http derives from its classes, so another version is another program. Debian's
# suite forky moves on: then NERVEX_HTTPLIB names the file, or these three change (CONTRIBUTING.md, Dependencies).
httplib_tested=0.41.0
httplib_archive=cpp-httplib_0.41.0+ds.orig.tar.xz
httplib_sha256=7acb492bffdd95165677d22145c2c4890e6432c5ef53d0f781defe8dec48f567

# The recipe below is part of the folder's name: a change in it makes a new folder.
httplib_options=(
  -DCMAKE_BUILD_TYPE=Release
  # As our programs, which see the library's header with the same settings.
  -DCMAKE_CXX_STANDARD=20 -DCMAKE_CXX_EXTENSIONS=OFF
  # Our programs are position-independent.
  -DCMAKE_POSITION_INDEPENDENT_CODE=ON
  # The flags of all our programs. The last one lets the compiler inline functions that are not replaced at run
  # time: a request then takes an eighth fewer of the library's instructions.
  # Folders do not show in programs, so that one commit gives the same bytes everywhere (@work@: where it is built).
  '-DCMAKE_CXX_FLAGS=-D_FORTIFY_SOURCE=2 -fstack-protector-strong -fno-semantic-interposition -ffile-prefix-map=@work@=cpp-httplib'
  # Where build_httplib writes the version file; and the library is part of the programs.
  -DCMAKE_INSTALL_LIBDIR=lib -DBUILD_SHARED_LIBS=OFF
  # Compiled once, not in each file of ours that includes it; without its own tests.
  -DHTTPLIB_COMPILE=ON -DHTTPLIB_SHARED=OFF -DHTTPLIB_TEST=OFF
  # TLS is ours. But only built with it does the library never look for a body behind a request without a length.
  -DHTTPLIB_REQUIRE_OPENSSL=ON
  # Nothing is compressed: a request that is would be refused, and a reply costs more to compress than to send.
  -DHTTPLIB_USE_BROTLI_IF_AVAILABLE=OFF -DHTTPLIB_USE_ZLIB_IF_AVAILABLE=OFF
  -DHTTPLIB_USE_ZSTD_IF_AVAILABLE=OFF
  # Names are resolved by us. This would only link another resolver.
  -DHTTPLIB_USE_NON_BLOCKING_GETADDRINFO=OFF
)

prefix_dir() {
  local key
  key=$(printf '%s\n' "$httplib_tested" "${httplib_options[@]}" "$machine" |
    sha256sum | cut -c1-12)
  echo "$NERVEX_CACHE/deps/$key"
}

# Of the tested version: an earlier scripts/setup could put another one there.
httplib_is_there() { [[ "$(httplib_version)" =~ ^"$httplib_tested"([+~-]|$) ]]; }

# The version of Debian's package whose upstream version is the tested one; nothing if apt knows none.
httplib_source_version() {
  apt-cache showsrc cpp-httplib 2>/dev/null | sed -n "s/^Version: \(${httplib_tested//./\\.}[+~-].*\)/\1/p" | sort -V | tail -n 1
}

httplib_version() { sed -n 's/^cpp-httplib //p' "$(prefix_dir)/nervex-deps.txt" 2>/dev/null; }

httplib_is_at_hand() { [[ -n "${NERVEX_HTTPLIB:-}" || -n "$(httplib_source_version)" ]]; }

# Puts the archive into this folder and prints its version. Only the download is apt's: the packaging of a newer suite
# would ask for newer packaging tools than Debian 12 has.
fetch_httplib() {
  local version
  if [[ -n "${NERVEX_HTTPLIB:-}" ]]; then
    cp "$NERVEX_HTTPLIB" "$httplib_archive"
    echo "$httplib_tested"
    return
  fi
  version=$(httplib_source_version)
  [[ -n "$version" ]] || die "apt has no cpp-httplib $httplib_tested, which this project is tested with; it has: $(
    apt-cache showsrc cpp-httplib 2>/dev/null | sed -n 's/^Version: //p' | sort -uV | paste -sd' ')
Get $httplib_archive from an archive of Debian's older packages, and say NERVEX_HTTPLIB=FILE scripts/setup.
To take a newer version instead: CONTRIBUTING.md, Dependencies."
  local sandbox=()
  if ((EUID == 0)); then sandbox=(-o APT::Sandbox::User=root); fi
  apt-get "${apt_options[@]}" "${sandbox[@]}" source --download-only "cpp-httplib=$version" >&2
  echo "$version"
}

check_httplib() {
  local found
  [[ -f "$httplib_archive" ]] || die "the source package of cpp-httplib has no $httplib_archive: $(echo *)"
  found=$(sha256sum "$httplib_archive" | cut -d' ' -f1)
  [[ "$found" == "$httplib_sha256" ]] || die "$httplib_archive is not the file that this project is tested with. SHA-256:
  $found  this file
  $httplib_sha256  expected
Nothing of it was unpacked. To take another version on purpose: CONTRIBUTING.md, Dependencies."
}

build_httplib() {
  local prefix=$1 work version tree
  work=$(mktemp -d "$NERVEX_CACHE/deps/build.XXXXXX")
  # shellcheck disable=SC2064  # the folder's name as it is now
  trap "rm -rf '$work'" EXIT
  cd "$work"
  version=$(fetch_httplib)
  check_httplib
  tar -xf "$httplib_archive"
  tree=$(find . -mindepth 1 -maxdepth 1 -type d | head -n 1)
  local toolchain=()
  if ((cross)); then toolchain=("-DCMAKE_TOOLCHAIN_FILE=$NERVEX_ROOT/cmake/arm64.cmake"); fi
  cmake -S "$tree" -B out -G Ninja -DCMAKE_INSTALL_PREFIX="$work/prefix" "${toolchain[@]}" "${httplib_options[@]//@work@/$work}"
  cmake --build out
  cmake --install out
  # Its version file accepts only the same 0.x, so that a request for 0.41 would refuse a later one.
  cat >prefix/lib/cmake/httplib/httplibConfigVersion.cmake <<FILE
set(PACKAGE_VERSION "${version%%[+~-]*}")
if(PACKAGE_VERSION VERSION_LESS PACKAGE_FIND_VERSION)
  set(PACKAGE_VERSION_COMPATIBLE FALSE)
else()
  set(PACKAGE_VERSION_COMPATIBLE TRUE)
endif()
FILE
  echo "cpp-httplib $version" >prefix/nervex-deps.txt
  rm -rf "$prefix"
  mv -T prefix "$prefix"
}
