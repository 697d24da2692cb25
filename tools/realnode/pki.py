"""Certificates and kubeconfigs of one node's cluster, made again at each start: nothing of it is worth keeping."""

import os
import subprocess

import yaml

from tools.base.console import Failure
from tools.realnode import settings as names

CLUSTER = "real-node"
SERVER = f"https://{names.ADDRESS}:6443"
API_NAMES = ("DNS:localhost", "DNS:kubernetes", "DNS:kubernetes.default", "DNS:kubernetes.default.svc",
             f"DNS:kubernetes.default.svc.{names.DOMAIN}", "IP:127.0.0.1", f"IP:{names.ADDRESS}", f"IP:{names.API_SERVICE}")


def leaves(node):
    """{file: (subject, names it serves)}"""
    return {
        "apiserver": ("/CN=kube-apiserver", API_NAMES),
        "apiserver-kubelet-client": ("/O=system:masters/CN=kube-apiserver-kubelet-client", ()),
        "kubelet-server": (f"/O=system:nodes/CN=system:node:{node}", (f"DNS:{node}", f"IP:{names.ADDRESS}")),
        **{user: (subject, ()) for user, subject in users(node).items()},
    }


def users(node):
    """{holder of a kubeconfig: subject}"""
    return {"admin": "/O=system:masters/CN=admin", "kubelet": f"/O=system:nodes/CN=system:node:{node}",
            "controller-manager": "/CN=system:kube-controller-manager", "scheduler": "/CN=system:kube-scheduler",
            "proxy": "/CN=system:kube-proxy"}


def _openssl(folder, *arguments, body=None):
    done = subprocess.run(["openssl", *arguments], cwd=folder, input=body, capture_output=True, text=True)
    if done.returncode != 0:
        raise Failure(f"openssl {arguments[0]}: {done.stderr.strip()}")


def make(settings):
    folder = settings.path("pki")
    os.makedirs(folder, mode=0o700)
    key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
    _openssl(folder, "req", "-x509", *key, "-keyout", "ca.key", "-out", "ca.crt", "-days", "7", "-subj", f"/CN={CLUSTER}-ca",
             "-addext", "keyUsage=critical,keyCertSign,digitalSignature")
    for name, (subject, served) in leaves(settings.name).items():
        _openssl(folder, "req", *key, "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", subject)
        extensions = "keyUsage=critical,digitalSignature\nextendedKeyUsage=serverAuth,clientAuth\n"
        if served:
            extensions += f"subjectAltName={','.join(served)}\n"
        with open(os.path.join(folder, f"{name}.ext"), "w", encoding="utf-8") as file:
            file.write(extensions)
        _openssl(folder, "x509", "-req", "-in", f"{name}.csr", "-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial",
                 "-days", "7", "-out", f"{name}.crt", "-extfile", f"{name}.ext")
    _openssl(folder, "genrsa", "-out", "service-accounts.key", "2048")
    _openssl(folder, "rsa", "-in", "service-accounts.key", "-pubout", "-out", "service-accounts.pub")
    for user in users(settings.name):
        with open(settings.pki(f"{user}.kubeconfig"), "w", encoding="utf-8") as file:
            yaml.safe_dump(kubeconfig(settings, user), file)


def kubeconfig(settings, user):
    return {
        "apiVersion": "v1", "kind": "Config", "current-context": CLUSTER,
        "clusters": [{"name": CLUSTER, "cluster": {"server": SERVER, "certificate-authority": settings.pki("ca.crt")}}],
        "users": [{"name": user, "user": {"client-certificate": settings.pki(f"{user}.crt"),
                                          "client-key": settings.pki(f"{user}.key")}}],
        "contexts": [{"name": CLUSTER, "context": {"cluster": CLUSTER, "user": user}}],
    }
