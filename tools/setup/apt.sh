# shellcheck shell=bash
# Installs with apt, and tells apt of the suites that newer packages come from. Sourced by scripts/setup, never run.

as_root() {
  if ((EUID == 0)); then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    die "root rights are needed for: $*
Run scripts/setup as root once, or install sudo."
  fi
}

apt_options=(-q -o Dpkg::Use-Pty=0 -o DPkg::Lock::Timeout=600 -o Acquire::Retries=3)

apt_install() {
  as_root env DEBIAN_FRONTEND=noninteractive apt-get "${apt_options[@]}" install -y --no-install-recommends "$@"
}

codename() { sed -n 's/^VERSION_CODENAME=//p' /etc/os-release | tr -d '"'; }

# Prints "URIs: ..." and, if there is one, "Signed-By: ..." of the machine's own Debian entry, from
# a deb822 file (paragraphs of "Key: value" with continuation lines) or a one-line sources.list.
debian_entry() {
  local file suite
  suite=$(codename)
  for file in /etc/apt/sources.list.d/*.sources; do
    [[ -f "$file" && "$file" != */nervex.sources ]] || continue
    awk -v suite="$suite" '
      function flush(   i, n, words, found) {
        if (uris != "" && types ~ /(^| )deb( |$)/ && components ~ /(^| )main( |$)/ && enabled !~ /^(no|false|0)$/) {
          n = split(suites, words, /[ \t]+/)
          for (i = 1; i <= n; i++) if (words[i] == suite) found = 1
          if (found) {
            print "URIs:" uris
            if (signed != "") print "Signed-By:" signed
            exit
          }
        }
        uris = types = suites = components = enabled = signed = key = ""
      }
      /^#/ { next }
      /^[ \t]*$/ { flush(); next }
      /^[ \t]/ { if (key == "signed-by") signed = signed "\n" $0; else if (key == "uris") uris = uris " " $0; next }
      {
        key = tolower($0); sub(/:.*/, "", key)
        value = $0; sub(/^[^:]*:/, "", value); sub(/[ \t]+$/, "", value)
        bare = value; sub(/^[ \t]+/, "", bare)
        if (key == "uris") uris = value
        else if (key == "types") types = bare
        else if (key == "suites") suites = bare
        else if (key == "components") components = bare
        else if (key == "enabled") enabled = bare
        else if (key == "signed-by") signed = value
      }
      END { flush() }' "$file"
  done
  for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
    [[ -f "$file" ]] || continue
    awk -v suite="$suite" '
      $1 == "deb" {
        options = ""
        line = $0; sub(/^deb[ \t]+/, "", line); sub(/#.*/, "", line)
        if (line ~ /^\[/) { options = line; sub(/\].*/, "", options); sub(/^\[/, "", options); sub(/^\[[^\]]*\][ \t]*/, "", line) }
        n = split(line, word, /[ \t]+/)
        if (word[2] != suite || line !~ /[ \t]main([ \t]|$)/ || word[1] ~ /^cdrom:/) next
        print "URIs: " word[1]
        m = split(options, option, /[ \t]+/)
        for (i = 1; i <= m; i++) if (option[i] ~ /^signed-by=/) { sub(/^signed-by=/, "", option[i]); gsub(/,/, " ", option[i]); print "Signed-By: " option[i] }
        exit
      }' "$file"
  done
}

# Only the first entry that fits: what follows it belongs to another file's entry.
apt_source() {
  local entry
  entry=$(debian_entry | awk '/^URIs:/ && ++seen > 1 { exit } { print }')
  [[ -n "$entry" ]] || die "no Debian entry for $(codename)/main in /etc/apt/sources.list or /etc/apt/sources.list.d"
  cat <<FILE
# Written by scripts/setup of the NerveX batch-scheduling suite; may be deleted with the suite.
# Signatures are checked. The lists expire within days, but a mirror may lag behind:
# Binaries: Catch2 3, and Go if the machine has none. A list counts for 30 days: an older one could hide what has
# been corrected since.
Types: deb
Suites: $(codename)-backports
Components: main
Valid-Until-Min: 2592000
$entry

# Source packages only: cpp-httplib. A list of any age will do, since scripts/setup knows the checksum of the one file
# that it takes: the worst that an old list can do is to name another file, which is refused.
Types: deb-src
Suites: forky
Components: main
Check-Valid-Until: no
$entry
FILE
}

write_apt_source() {
  local source preferences
  source=$(apt_source)
  preferences='# Written by scripts/setup: nothing comes from these suites unless it is asked for by name.
Package: *
Pin: release n='$(codename)'-backports
Pin-Priority: 100

Package: *
Pin: release n=forky
Pin-Priority: 1'
  if [[ "$(cat /etc/apt/sources.list.d/nervex.sources 2>/dev/null)" != "$source" ]]; then
    as_root tee /etc/apt/sources.list.d/nervex.sources <<<"$source" >/dev/null
  fi
  if [[ "$(cat /etc/apt/preferences.d/nervex 2>/dev/null)" != "$preferences" ]]; then
    as_root tee /etc/apt/preferences.d/nervex <<<"$preferences" >/dev/null
  fi
}

apt_update() {
  if ((EUID != 0)) && command -v sudo >/dev/null; then say "this needs root rights: sudo may ask for a password"; sudo -v; fi
  write_apt_source
  step "apt: read the package lists" as_root apt-get "${apt_options[@]}" update
}
