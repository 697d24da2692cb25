"""One real node on this machine: etcd, API server, scheduler, controller manager, kubelet, kube-proxy, containerd,
runc and CoreDNS, in namespaces of their own that have no way out.

    machine     can this machine do it?
    packages    containerd, runc and so on, from Debian, unpacked into the cache
    settings    what the node is made of, and where its files are
    config      what its programs are told: flags and files, as values
    pki         certificates and kubeconfigs
    cgroups     where its pods are counted
    images      images of what runs as pods beside ours
    simulated   nodes that kwok plays, beside the real one
    install     the suite on it, as a user installs it
    node        a node that runs: its programs, and commands inside of it
    namespaces  which processes, containers and mounts are in it
    lifecycle   up and down
"""
