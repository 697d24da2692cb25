# shellcheck shell=bash
# Builds one set of Kubernetes programs into the cache: $what names it, $programs are what it consists of. Sourced by
# scripts/control-plane, never run.

modules="$NERVEX_ROOT/tools/controlplane"
go_build=(go build -mod=readonly -trimpath)

version_in() { sed -nE "s#^(require)?[[:space:]]+$2 (v[^ ]*).*#\2#p" "$modules/$1/go.mod" | head -n 1; }

# What is built is kept under a hash of its versions and of how it is built.
key() { cat "$@" | sha256sum | cut -c1-12; }

bin_dir() {
  local all="$NERVEX_CACHE/control-plane"
  case $what in
    control_plane)
      if [[ -n "${NERVEX_CONTROL_PLANE_BIN:-}" ]]; then
        echo "$NERVEX_CONTROL_PLANE_BIN"
      else
        echo "$all/$(key "$modules"/{etcd,kwok,kubernetes}/go.{mod,sum} <(declare -f build_etcd build_kwok build_kubernetes))"
      fi
      ;;
    kubernetes)
      echo "$all/kubernetes-$minor-$(key "$modules"/{etcd,kwok,"versions/$minor/kubernetes"}/go.{mod,sum} \
        <(declare -f build_etcd build_kwok build_kubernetes build_minor))"
      ;;
    operator) echo "$all/operator-$(key "$modules"/training-operator/go.{mod,sum} <(declare -f build_operator))" ;;
    peers) echo "$all/coscheduling-$(key "$modules"/coscheduling/go.{mod,sum} <(declare -f build_coscheduling))" ;;
    node)
      echo "$all/node-$(key "$modules"/{node,coredns}/go.{mod,sum} "$modules"/{node/pause,coredns}/main.go \
        <(declare -f kubernetes_flags build_node build_coredns))"
      ;;
    cert_manager) echo "$all/cert-manager-$(key "$modules"/cert-manager/go.{mod,sum} <(declare -f build_cert_manager))" ;;
    helm) echo "$all/helm-$(key "$modules"/helm/go.{mod,sum} <(declare -f build_helm))" ;;
    helm_3) echo "$all/helm-3-$(key "$modules"/helm-3/go.{mod,sum} <(declare -f build_helm_3))" ;;
    oci_archive)
      echo "$all/oci-archive-$(key "$modules"/oci-archive/{go.mod,go.sum,main.go} <(declare -f build_oci_archive))"
      ;;
    prometheus) echo "$all/prometheus-$(key "$modules"/prometheus/go.{mod,sum} <(declare -f build_prometheus))" ;;
  esac
}

missing_in() {
  local program
  for program in "${programs[@]}"; do
    [[ -x "$1/$program" ]] || echo "$program"
  done
}

build_etcd() {
  cd "$modules/etcd"
  "${go_build[@]}" -ldflags '-s -w' -o "$1/etcd" go.etcd.io/etcd/server/v3
}

build_kwok() {
  cd "$modules/kwok"
  "${go_build[@]}" -ldflags "-s -w -X sigs.k8s.io/kwok/pkg/consts.Version=$(version_in kwok sigs.k8s.io/kwok)" \
    -o "$1/" sigs.k8s.io/kwok/cmd/kwok sigs.k8s.io/kwok/cmd/kwokctl
}

build_kubernetes() {
  local version package=k8s.io/component-base/version
  version=$(version_in kubernetes k8s.io/kubernetes)
  cd "$modules/kubernetes"
  # Without these the API server calls itself v0.0.0 and clients refuse to talk to it.
  "${go_build[@]}" -ldflags "-s -w -X $package.gitVersion=$version \
    -X $package.gitMajor=$(cut -d. -f1 <<<"${version#v}") -X $package.gitMinor=$(cut -d. -f2 <<<"$version") \
    -X $package.gitTreeState=clean" \
    -o "$1/" k8s.io/kubernetes/cmd/{kube-apiserver,kube-scheduler,kube-controller-manager,kubectl}
}

# Another minor version beside the pinned etcd and kwok.
build_minor() {
  cp "$(what=control_plane bin_dir)"/{etcd,kwok,kwokctl} "$1/"
  local modules="$modules/versions/$minor"
  build_kubernetes "$1"
}

# Else the kubelet reports its node as one of v0.0.0.
kubernetes_flags() {
  local version=$1 package=k8s.io/component-base/version
  echo "-s -w -X $package.gitVersion=$version -X $package.gitMajor=$(cut -d. -f1 <<<"${version#v}")" \
    "-X $package.gitMinor=$(cut -d. -f2 <<<"$version") -X $package.gitTreeState=clean"
}

build_node() {
  cd "$modules/node"
  "${go_build[@]}" -ldflags "$(kubernetes_flags "$(version_in node k8s.io/kubernetes)")" \
    -o "$1/" k8s.io/kubernetes/cmd/{kubelet,kube-proxy} ./pause
}

build_coredns() {
  cd "$modules/coredns"
  "${go_build[@]}" -ldflags '-s -w' -o "$1/coredns" .
}

# The CRDs come as templates of a chart; what is in braces there are labels and a switch.
build_cert_manager() {
  local folder crd
  cd "$modules/cert-manager"
  "${go_build[@]}" -ldflags '-s -w' -o "$1/cert-manager-controller" github.com/cert-manager/cert-manager/cmd/controller
  "${go_build[@]}" -ldflags '-s -w' -o "$1/cert-manager-cainjector" github.com/cert-manager/cert-manager/cmd/cainjector
  mkdir -p "$1/crds"
  folder=$(go list -mod=readonly -m -f '{{.Dir}}' github.com/cert-manager/cert-manager)
  for crd in "$folder"/deploy/crds/crd-*.yaml; do
    sed '/{{/d' "$crd" >"$1/crds/$(basename "$crd")"
  done
}

build_helm() {
  cd "$modules/helm"
  "${go_build[@]}" -ldflags "-s -w -X helm.sh/helm/v4/internal/version.version=$(version_in helm helm.sh/helm/v4)" \
    -o "$1/helm" helm.sh/helm/v4/cmd/helm
}

build_helm_3() {
  cd "$modules/helm-3"
  "${go_build[@]}" -ldflags "-s -w -X helm.sh/helm/v3/internal/version.version=$(version_in helm-3 helm.sh/helm/v3)" \
    -o "$1/helm" helm.sh/helm/v3/cmd/helm
}

# Without discovery of targets in clouds and clusters, which is most of it: the tests name their targets.
build_prometheus() {
  cd "$modules/prometheus"
  "${go_build[@]}" -tags remove_all_sd -ldflags \
    "-s -w -X github.com/prometheus/common/version.Version=$(version_in prometheus github.com/prometheus/prometheus)" \
    -o "$1/" github.com/prometheus/prometheus/cmd/{prometheus,promtool}
}

build_oci_archive() {
  cd "$modules/oci-archive"
  "${go_build[@]}" -ldflags '-s -w' -o "$1/" .
}

# With the CRDs of the same versions: its own kinds, and the PodGroup that it asks for gang scheduling with.
build_operator() {
  local folder
  cd "$modules/training-operator"
  "${go_build[@]}" -ldflags '-s -w' -o "$1/training-operator" github.com/kubeflow/training-operator/cmd/training-operator.v1
  mkdir -p "$1/crds"
  folder=$(go list -mod=readonly -m -f '{{.Dir}}' github.com/kubeflow/training-operator)
  cp "$folder"/manifests/base/crds/kubeflow.org_*.yaml "$1/crds/"
  folder=$(go list -mod=readonly -m -f '{{.Dir}}' sigs.k8s.io/scheduler-plugins)
  cp "$folder"/config/crd/bases/scheduling.x-k8s.io_podgroups.yaml "$1/crds/"
  chmod -R u+w "$1/crds"
}

# With its default set of plugins, as its project ships it; a configuration enables the one.
build_coscheduling() {
  local folder
  cd "$modules/coscheduling"
  "${go_build[@]}" -ldflags '-s -w' -o "$1/coscheduling-scheduler" sigs.k8s.io/scheduler-plugins/cmd/scheduler
  mkdir -p "$1/crds"
  folder=$(go list -mod=readonly -m -f '{{.Dir}}' sigs.k8s.io/scheduler-plugins)
  cp "$folder"/config/crd/bases/scheduling.x-k8s.io_podgroups.yaml "$1/crds/"
  chmod -R u+w "$1/crds"
}

build() {
  local dir=$1 partial="$1.partial"
  # Any Go of 1.21 or newer fetches the toolchain that go.mod asks for.
  export GOTOOLCHAIN=auto CGO_ENABLED=0 GOWORK=off GOFLAGS=''
  # A Go from bookworm-backports is there after scripts/setup; other machines bring their own.
  command -v go >/dev/null || die "there is no Go: run scripts/setup first"
  rm -rf "$partial"
  mkdir -p "$partial"
  case $what in
    control_plane)
      step "build etcd $(version_in etcd go.etcd.io/etcd/server/v3)" build_etcd "$partial"
      step "build kwok $(version_in kwok sigs.k8s.io/kwok)" build_kwok "$partial"
      step "build Kubernetes $(version_in kubernetes k8s.io/kubernetes) (the longest part)" build_kubernetes "$partial"
      ;;
    kubernetes) step "build $(title)" build_minor "$partial" ;;
    operator) step "build the $(title)" build_operator "$partial" ;;
    peers) step "build the $(title)" build_coscheduling "$partial" ;;
    node)
      step "build kubelet and kube-proxy $(version_in node k8s.io/kubernetes)" build_node "$partial"
      step "build CoreDNS $(version_in coredns github.com/coredns/coredns)" build_coredns "$partial"
      ;;
    cert_manager) step "build $(title)" build_cert_manager "$partial" ;;
    helm) step "build $(title)" build_helm "$partial" ;;
    helm_3) step "build $(title)" build_helm_3 "$partial" ;;
    oci_archive) step "build $(title)" build_oci_archive "$partial" ;;
    prometheus) step "build $(title)" build_prometheus "$partial" ;;
  esac
  rm -rf "$dir"
  mv -T "$partial" "$dir"
}

# For people: what it is, in which version.
title() {
  case $what in
    control_plane) echo "control plane: Kubernetes $(version_in kubernetes k8s.io/kubernetes)" ;;
    kubernetes) echo "Kubernetes $(version_in "versions/$minor/kubernetes" k8s.io/kubernetes)" ;;
    operator) echo "training operator $(version_in training-operator github.com/kubeflow/training-operator)" ;;
    peers) echo "coscheduling scheduler $(version_in coscheduling sigs.k8s.io/scheduler-plugins)" ;;
    node) echo "programs of a node: Kubernetes $(version_in node k8s.io/kubernetes), CoreDNS $(version_in coredns github.com/coredns/coredns)" ;;
    helm) echo "Helm $(version_in helm helm.sh/helm/v4)" ;;
    helm_3) echo "Helm $(version_in helm-3 helm.sh/helm/v3)" ;;
    prometheus) echo "Prometheus $(version_in prometheus github.com/prometheus/prometheus)" ;;
    oci_archive) echo "oci-archive with go-containerregistry $(version_in oci-archive github.com/google/go-containerregistry)" ;;
    cert_manager) echo "cert-manager $(version_in cert-manager github.com/cert-manager/cert-manager)" ;;
  esac
}

provide() {
  local dir missing
  dir=$(bin_dir)
  missing=$(missing_in "$dir")
  if [[ -n "$missing" && "$dir" == "${NERVEX_CONTROL_PLANE_BIN:-}" ]]; then
    die "NERVEX_CONTROL_PLANE_BIN is $dir, but these are not there: ${missing//$'\n'/, }"
  fi
  if [[ -n "$missing" ]]; then
    mkdir -p "$NERVEX_CACHE/control-plane"
    exec 9>"$NERVEX_CACHE/control-plane/lock"
    flock -n 9 || { say "another scripts/control-plane is building: waiting for it"; flock 9; }
    if [[ -n "$(missing_in "$dir")" ]]; then
      begin=$(now_ms)
      build "$dir"
      record_time "${what//_/ }, built from source" "$(($(now_ms) - begin))"
    fi
    exec 9>&-
  fi
  say "$(title) in $dir"
}
