# shellcheck shell=bash
# What a build for another architecture needs: Debian's cross compiler, and that architecture's libraries, unpacked into
# the cache. They are not installed, and the machine is told of no other architecture: some of their -dev packages
# would replace those of its own.
# Sourced by scripts/setup, never run.

cross_compiler=(g++-aarch64-linux-gnu)

# What the programs are compiled with, and the libraries that their images hold. apt is not asked what else these
# packages depend on: that is a desktop's worth, and not linked.
sysroot_packages=(
  libc6 libc6-dev linux-libc-dev libcrypt1 libcrypt-dev libgcc-s1 libstdc++6
  libssl3 libssl-dev libfmt9 libfmt-dev libspdlog1.10 libspdlog-dev libyaml-cpp0.7 libyaml-cpp-dev
  libsimdjson14 libsimdjson-dev libjemalloc-dev libprometheus-cpp-core1.0 prometheus-cpp-dev
  nlohmann-json3-dev libcli11-dev libvalijson-dev libprotozero-dev
)

# What unpack_sysroot does to them is part of the folder's name: a change in it makes a new folder.
sysroot_dir() {
  echo "$NERVEX_CACHE/sysroot/arm64-$({ printf '%s\n' "${sysroot_packages[@]}"; declare -f unpack_sysroot; } | sha256sum | cut -c1-12)"
}

sysroot_is_there() { [[ -f "$(sysroot_dir)/complete" ]]; }

# Downloads with apt (it checks signatures and hashes), but with lists and a package database of its own, so that no
# root rights are needed. apt's own configuration says which mirror.
download_sysroot() {
  local folder=$1
  mkdir -p "$folder"/{lists,cache/archives}/partial "$folder/debs"
  : >"$folder/status"
  local options=("${apt_options[@]}" -o APT::Architecture=arm64 -o APT::Architectures=arm64
    -o "Dir::State=$folder" -o "Dir::State::status=$folder/status" -o "Dir::State::lists=$folder/lists"
    -o "Dir::Cache=$folder/cache" -o Acquire::Languages=none -o Acquire::IndexTargets::deb-src::Sources::DefaultEnabled=false)
  if ((EUID == 0)); then options+=(-o APT::Sandbox::User=root); fi
  apt-get "${options[@]}" update
  (cd "$folder/debs" && apt-get "${options[@]}" download "${sysroot_packages[@]}")
}

# Unpacks them and writes dpkg's database of them, from which the images' lists of contents are made. Links to absolute
# paths would lead to this machine's files: libm.so would be none, and the linker would take libm.a.
unpack_sysroot() {
  local debs=$1 root=$2 deb name link database=$2/var/lib/dpkg
  mkdir -p "$database/info" "$database/updates"
  echo 1 >"$database/info/format"
  for deb in "$debs"/*.deb; do
    dpkg-deb --extract "$deb" "$root"
    { dpkg-deb --field "$deb" | sed '1a Status: install ok installed'; echo; } >>"$database/status"
    name=$(dpkg-deb --field "$deb" Package)
    if [[ "$(dpkg-deb --field "$deb" Multi-Arch)" == same ]]; then name+=":$(dpkg-deb --field "$deb" Architecture)"; fi
    dpkg-deb --fsys-tarfile "$deb" | tar -t | sed -e 's|^\./$|/.|' -e 's|^\./|/|' -e 's|\(.\)/$|\1|' >"$database/info/$name.list"
  done
  while IFS= read -r link; do
    ln -sfn "$(realpath --no-symlinks -m --relative-to="$(dirname "$link")" "$root$(readlink "$link")")" "$link"
  done < <(find "$root" -type l -lname '/*')
}

build_sysroot() {
  local target=$1 work
  work=$(mktemp -d "$NERVEX_CACHE/sysroot/build.XXXXXX")
  # shellcheck disable=SC2064  # the folder's name as it is now
  trap "rm -rf '$work'" EXIT
  download_sysroot "$work"
  unpack_sysroot "$work/debs" "$work/root"
  touch "$work/root/complete"
  rm -rf "$target"
  mv -T "$work/root" "$target"
}

# A minute the first time, and ninety megabytes.
setup_cross() {
  if ! command -v aarch64-linux-gnu-g++ >/dev/null; then
    [[ -n "$(apt-cache madison "${cross_compiler[0]}" 2>/dev/null)" ]] || apt_update
    step "apt: install the cross compiler for arm64" apt_install "${cross_compiler[@]}"
  fi
  if ! sysroot_is_there; then
    mkdir -p "$NERVEX_CACHE/sysroot"
    step "unpack ${#sysroot_packages[@]} Debian packages of arm64 into the cache" build_sysroot "$(sysroot_dir)"
  fi
}

check_cross() {
  local ok=0
  command -v aarch64-linux-gnu-g++ >/dev/null || { say "missing: Debian package ${cross_compiler[0]}"; ok=1; }
  sysroot_is_there || { say "missing: libraries of arm64 in $(sysroot_dir)"; ok=1; }
  return $ok
}
