"""What the node's programs are told, as values: command lines, and the files that they read."""


from tools.controlplane import binaries
from tools.realnode import settings as names

CONTAINERD = "/run/containerd/containerd.sock"
PAUSE = "localhost/nervex-pause:1"
# A machine whose root lacks CAP_SYS_RESOURCE (many containers and small virtual machines) may neither protect a
# process from the OOM killer nor raise its limit of open files.
UNPROTECTED = 0
OPEN_FILES = 20000


def command_lines(settings, programs, tools):
    """{program: its command line}. `programs`: folder of the control plane's programs, `tools`: of the node's."""
    def flags(program, **values):
        return [program, *(f"--{name.replace('_', '-')}={value}" for name, value in values.items())]

    pki = settings.pki
    both = {"authentication_kubeconfig", "authorization_kubeconfig", "kubeconfig"}
    return {
        "etcd": flags(
            f"{programs}/etcd", data_dir=settings.path("etcd"), unsafe_no_fsync="true", log_level="warn",
            listen_client_urls="http://127.0.0.1:2379", advertise_client_urls="http://127.0.0.1:2379",
            listen_peer_urls="http://127.0.0.1:2380"),
        "kube-apiserver": flags(
            f"{programs}/kube-apiserver", etcd_servers="http://127.0.0.1:2379", bind_address="0.0.0.0", secure_port=6443,
            advertise_address=names.ADDRESS, service_cluster_ip_range=names.SERVICES, allow_privileged="true",
            authorization_mode="Node,RBAC", enable_admission_plugins="NodeRestriction",
            admission_control_config_file=settings.path("etc", "admission.yaml"),
            client_ca_file=pki("ca.crt"), tls_cert_file=pki("apiserver.crt"), tls_private_key_file=pki("apiserver.key"),
            kubelet_certificate_authority=pki("ca.crt"), kubelet_preferred_address_types="InternalIP",
            kubelet_client_certificate=pki("apiserver-kubelet-client.crt"), kubelet_client_key=pki("apiserver-kubelet-client.key"),
            # who asks a program's own port about its caller (kube-scheduler does) finds this published
            requestheader_client_ca_file=pki("ca.crt"), requestheader_allowed_names="front-proxy",
            requestheader_username_headers="X-Remote-User", requestheader_group_headers="X-Remote-Group",
            requestheader_extra_headers_prefix="X-Remote-Extra-",
            service_account_issuer=f"https://kubernetes.default.svc.{names.DOMAIN}",
            service_account_key_file=pki("service-accounts.pub"), service_account_signing_key_file=pki("service-accounts.key")),
        "kube-controller-manager": flags(
            f"{programs}/kube-controller-manager", leader_elect="false", bind_address="127.0.0.1",
            **dict.fromkeys(sorted(both), pki("controller-manager.kubeconfig")), use_service_account_credentials="true",
            service_account_private_key_file=pki("service-accounts.key"), root_ca_file=pki("ca.crt"),
            cluster_signing_cert_file=pki("ca.crt"), cluster_signing_key_file=pki("ca.key")),
        "kube-scheduler": flags(
            f"{programs}/kube-scheduler", leader_elect="false", bind_address="127.0.0.1",
            **dict.fromkeys(sorted(both), pki("scheduler.kubeconfig"))),
        "containerd": flags("containerd", config=settings.path("etc", "containerd.toml")),
        "kubelet": flags(
            f"{tools}/kubelet", config=settings.path("etc", "kubelet.yaml"), kubeconfig=pki("kubelet.kubeconfig"),
            hostname_override=settings.name, node_ip=names.ADDRESS, root_dir="/var/lib/kubelet",
            cert_dir="/var/lib/kubelet/pki", v=2),
        "kube-proxy": flags(f"{tools}/kube-proxy", config=settings.path("etc", "kube-proxy.yaml"), v=2),
        # plays the simulated nodes, if there are any; the real one is not annotated so
        "kwok": flags(
            f"{programs}/kwok", kubeconfig=pki("admin.kubeconfig"), config=",".join(stages()), manage_all_nodes="false",
            manage_nodes_with_annotation_selector="=".join(names.SIMULATED), node_ip=names.PEER,
            cidr=names.SIMULATED_PODS, node_lease_duration_seconds=40),
    }


def stages():
    """The stages of simulated nodes' pods, as in clusters without a real node."""
    return binaries.stages()


def admission(settings, shows_certificate):
    """What the API server presents to webhooks. `shows_certificate`: to ours, as docs/tasks/secure.md describes for
    hardened variants."""
    hooks = {"apiVersion": "apiserver.config.k8s.io/v1", "kind": "WebhookAdmissionConfiguration",
             "kubeConfigFile": settings.path("etc", "webhooks.kubeconfig")}
    plugins = [{"name": name, "configuration": hooks}
               for name in ("MutatingAdmissionWebhook", "ValidatingAdmissionWebhook")]
    return {"apiVersion": "apiserver.config.k8s.io/v1", "kind": "AdmissionConfiguration",
            "plugins": plugins if shows_certificate else []}


def webhooks_kubeconfig(settings):
    return {"apiVersion": "v1", "kind": "Config", "users": [
        {"name": "nervex-webhook-service.nervex-system.svc",
         "user": {"client-certificate": settings.pki("webhooks.crt"), "client-key": settings.pki("webhooks.key")}}]}


def containerd(root):
    """`root`: folder of the unpacked packages."""
    unused = ", ".join(f'"io.containerd.snapshotter.v1.{one}"' for one in ("aufs", "btrfs", "devmapper", "zfs"))
    return f"""\
version = 2
root = "/var/lib/containerd"
state = "/run/containerd"
disabled_plugins = [{unused}]

[grpc]
  address = "{CONTAINERD}"

[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{PAUSE}"
  restrict_oom_score_adj = true

  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "{root}/usr/lib/cni"
    conf_dir = "/run/cni-config"

  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
    default_runtime_name = "runc"

    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"

      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        BinaryName = "{root}/usr/sbin/runc"
        SystemdCgroup = false
"""


def network():
    """One bridge; pods reach each other, the node and Services, and nothing else."""
    return {"cniVersion": "1.0.0", "name": "pods", "plugins": [{
        "type": "bridge", "bridge": "pods0", "isGateway": True, "isDefaultGateway": True, "ipMasq": False,
        "hairpinMode": True,  # a pod may be behind the Service that it calls
        "ipam": {"type": "host-local", "dataDir": "/run/cni-addresses", "ranges": [[{"subnet": names.PODS}]]}}]}


def kubelet(settings, cgroup_version):
    nothing_left = "1%"
    config = {
        "apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",
        "address": names.ADDRESS, "readOnlyPort": 0, "healthzBindAddress": "127.0.0.1", "healthzPort": 10248,
        "authentication": {"anonymous": {"enabled": False}, "webhook": {"enabled": True},
                           "x509": {"clientCAFile": settings.pki("ca.crt")}},
        "authorization": {"mode": "Webhook"},
        "tlsCertFile": settings.pki("kubelet-server.crt"), "tlsPrivateKeyFile": settings.pki("kubelet-server.key"),
        "containerRuntimeEndpoint": f"unix://{CONTAINERD}",
        "cgroupDriver": "cgroupfs", "cgroupRoot": f"/{settings.cgroup}",
        "failSwapOn": False, "protectKernelDefaults": False, "oomScoreAdj": UNPROTECTED, "maxOpenFiles": OPEN_FILES,
        "clusterDNS": [names.DNS], "clusterDomain": names.DOMAIN, "resolvConf": settings.path("etc", "resolv.conf"),
        "staticPodPath": "", "volumePluginDir": "/var/lib/kubelet/volume-plugins", "podLogsDir": "/var/log/pods",
        # A changed Secret reaches the pods that mount it this much later.
        "syncFrequency": "2s", "nodeStatusUpdateFrequency": "5s",
        # Images are loaded, never pulled: one that was collected would be gone.
        "imageMinimumGCAge": "24h", "imageGCHighThresholdPercent": 100, "imageGCLowThresholdPercent": 99,
        "evictionHard": {"memory.available": "100Mi", "nodefs.available": nothing_left,
                         "imagefs.available": nothing_left, "nodefs.inodesFree": nothing_left},
    }
    if cgroup_version == 1:
        config["failCgroupV1"] = False  # since 1.35 it must be asked for
    return config


def kube_proxy(settings):
    return {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1", "kind": "KubeProxyConfiguration", "mode": "nftables",
        "clientConnection": {"kubeconfig": settings.pki("proxy.kubeconfig")}, "hostnameOverride": settings.name,
        "clusterCIDR": names.PODS, "oomScoreAdj": UNPROTECTED,
        "healthzBindAddress": "127.0.0.1:10256", "metricsBindAddress": "127.0.0.1:10249",
        "nftables": {"minSyncPeriod": "100ms"},
        # these limits are of the whole machine
        "conntrack": {"maxPerCore": 0, "min": 0, "tcpEstablishedTimeout": "0s", "tcpCloseWaitTimeout": "0s"},
    }
