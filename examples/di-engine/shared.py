"""What coordinator and workers of a job have in common: the folder by which they exchange data; the configuration."""

import contextlib
import os

import cartpole

VOLUME = os.environ.get("SHARED_VOLUME", "/shared")


def enter_folder() -> None:
    """Makes the job's folder of the shared volume the working folder. It has the name of the coordinator's pod, which
    every pod of the job knows. DI-engine itself creates one level of folders only."""
    namespace = os.environ["KUBERNETES_POD_NAMESPACE"]
    coordinator = os.environ["KUBERNETES_COORDINATOR_URL"].split(".")[0]
    folder = os.path.join(VOLUME, namespace, coordinator)
    for name in ("data", "policy"):
        os.makedirs(os.path.join(folder, name), exist_ok=True)
    os.chdir(folder)


def load_config(seed: int = 0):
    """The complete configuration, as `ding -m dist --module config -P k8s` writes it to a file. Each process computes
    it instead."""
    from ding.config import compile_config_parallel
    from ding.utils import set_pkg_seed

    set_pkg_seed(seed)
    with open(os.devnull, "w") as nothing, contextlib.redirect_stdout(nothing):  # it prints all of it
        return compile_config_parallel(
            cartpole.main_config, create_cfg=cartpole.create_config, system_cfg=cartpole.system_config, seed=seed,
            save_cfg=False, platform="k8s")


def say(line: str) -> None:
    print(line, flush=True)
