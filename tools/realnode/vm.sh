# shellcheck shell=bash
# An emulated machine with cgroup v2 that sees all files of this one. Sourced by scripts/vm, never run.

memory=${NERVEX_VM_MEMORY:-10G}
parts="$NERVEX_CACHE/vm"
out="$NERVEX_ROOT/build/vm"
# What a node needs of a kernel whose every part is a module.
modules=(virtio_pci fuse virtiofs overlay veth bridge br_netfilter dummy nf_tables nft_masq nft_nat nft_chain_nat nft_fib_inet
  nft_fib_ipv4 nft_fib_ipv6 nft_numgen nft_ct nft_reject nft_reject_inet nft_reject_ipv4 nft_reject_ipv6 nft_redir nft_hash
  nft_limit nft_log nft_compat xt_comment ip_tables)

# shellcheck disable=SC2317  # `step` calls it
fetch_parts() {
  local missing=() folder kernel
  for program in qemu-system-x86_64:qemu-system-x86 depmod:kmod cpio:cpio; do
    PATH="$PATH:/sbin:/usr/sbin" command -v "${program%%:*}" >/dev/null || missing+=("${program##*:}")
  done
  if ((${#missing[@]} > 0)); then
    apt-get -q update
    env DEBIAN_FRONTEND=noninteractive apt-get -q install -y --no-install-recommends "${missing[@]}"
  fi
  folder=$(mktemp -d "$parts.XXXXXX")
  cd "$folder"
  kernel=$(apt-cache depends linux-image-cloud-amd64 | sed -nE 's/^ *Depends: (linux-image-[0-9].*)/\1/p' | head -n 1)
  apt-get -q -o APT::Sandbox::User=root download "$kernel" busybox-static
  for package in ./*.deb; do dpkg-deb --extract "$package" root; done
  PATH="$PATH:/sbin" depmod -b root "${kernel#linux-image-}"
  rm ./*.deb
  mkdir -p start/{bin,proc,sys,dev,lower,upper,root,lib}
  cp root/bin/busybox start/bin/
  cp -a root/lib/modules start/lib/
  cp root/boot/vmlinuz-* kernel
  rm -r root
  rm -rf "$parts"
  mv "$folder" "$parts"
}

# The machine's first program. switch_root and not chroot: a program that enters another mount namespace begins at its root.
write_init() {
  cat >"$parts/start/init" <<INIT
#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev
for module in ${modules[*]}; do modprobe \$module; done
mount -t virtiofs -o ro files /lower || exec sh
mount -t tmpfs -o size=80% tmpfs /upper; mkdir /upper/files /upper/work
mount -t overlay -o lowerdir=/lower,upperdir=/upper/files,workdir=/upper/work overlay /root || exec sh
mkdir -p /root/lib/modules; mount --bind /lib/modules /root/lib/modules
mount --move /proc /root/proc; mount --move /sys /root/sys; mount --move /dev /root/dev
mkdir -p /root/dev/pts /root/dev/shm /root/out
mount -t devpts devpts /root/dev/pts
for folder in dev/shm tmp run; do mount -t tmpfs tmpfs /root/\$folder; done
for name in fd:fd stdin:fd/0 stdout:fd/1 stderr:fd/2; do ln -s /proc/self/\${name##*:} /root/dev/\${name%%:*}; done
mount -t cgroup2 cgroup2 /root/sys/fs/cgroup
mount -t virtiofs out /root/out
ip link set lo up; hostname vm
exec switch_root /root /bin/bash /out/run
INIT
  chmod +x "$parts/start/init"
  (cd "$parts/start" && find . | cpio --quiet -o -H newc) | gzip -1 >"$parts/start.gz"
}

# write_command COMMAND...: what the machine's first program ends with.
write_command() {
  printf 'export PATH=%q HOME=%q NERVEX_CACHE=%q NERVEX_TIMEOUT_FACTOR=12\n' "$PATH" "$HOME" "$NERVEX_CACHE"
  printf 'exec >/out/output 2>&1 </dev/null\ncd %q\n%s\necho $? >/out/status\n' "$NERVEX_ROOT" "${*@Q}"
  printf 'sync\necho o >/proc/sysrq-trigger\nsleep 60\n'
}

# share_folder SOCKET FOLDER: the machine's files.
share_folder() {
  /usr/lib/qemu/virtiofsd --socket-path="$out/$1.sock" -o source="$2" -o sandbox=chroot -o cache=auto >"$out/$1.log" 2>&1 &
}

start_machine() {
  timeout "$((${NERVEX_VM_MINUTES:-30} * 60))" qemu-system-x86_64 -accel tcg,thread=multi -cpu max -smp 2 -m "$memory" \
    -object memory-backend-memfd,id=memory,size="$memory",share=on -numa node,memdev=memory \
    -kernel "$parts/kernel" -initrd "$parts/start.gz" -append "console=ttyS0 panic=1 quiet cgroup_no_v1=all rdinit=/init" \
    -display none -no-reboot -nodefaults -net none -serial "file:$out/console" \
    -chardev socket,id=files,path="$out/files.sock" -device vhost-user-fs-pci,chardev=files,tag=files \
    -chardev socket,id=out,path="$out/out.sock" -device vhost-user-fs-pci,chardev=out,tag=out
}

# run_in_vm COMMAND...: ends this script with its status.
run_in_vm() {
  local files folder shown
  mkdir -p "$out" "$NERVEX_CACHE"
  rm -f "$out"/{output,status,*.sock}
  [[ -f "$parts/kernel" ]] || step "a kernel, busybox and QEMU for a virtual machine" fetch_parts
  write_init
  write_command "$@" >"$out/run"
  share_folder files /
  files=$!
  share_folder out "$out"
  folder=$!
  touch "$out/output"
  tail -n +1 -f "$out/output" &
  shown=$!
  # shellcheck disable=SC2064  # the processes as they are now
  trap "kill $files $folder $shown 2>/dev/null || true" EXIT
  until [[ -S "$out/files.sock" && -S "$out/out.sock" ]]; do
    kill -0 "$files" "$folder" 2>/dev/null || die "virtiofsd ended: $(tail -n 3 "$out"/*.log)"
  done
  start_machine
  sleep 0.2  # what was written last is shown
  [[ -f "$out/status" ]] || die "the machine ended before its command; its console: $out/console"
  exit "$(cat "$out/status")"
}
