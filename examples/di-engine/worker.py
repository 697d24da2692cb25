"""Starts DI-engine's collector, learner or aggregator: which one follows from the variable with the pod's port.

As `ding -m dist --module collector` and so on. On SIGTERM it serves for some seconds more: nervex-server lists a pod no
longer when it is being deleted, and the coordinator, which asks once a second, disconnects from it."""

import logging
import os
import signal
import subprocess
import sys
import time
import traceback

import shared
from shared import say

SECONDS_TO_DISCONNECT = 5


def main() -> int:
    awaited = {signal.SIGTERM, signal.SIGCHLD}
    signal.pthread_sigmask(signal.SIG_BLOCK, awaited)  # before any thread starts
    logging.getLogger("werkzeug").disabled = True
    role, start = next((role, start) for role, start in ROLES.items() if f"{role}_PORT" in os.environ)
    started = start(int(os.environ[f"{role}_PORT"]))
    say(f"{role.lower()} serves on port {os.environ[f'{role}_PORT']}")
    processes = started if isinstance(started, list) else []  # of a learner with several GPUs
    while signal.sigwait(awaited) != signal.SIGTERM:
        if any(process.poll() is not None for process in processes):
            say("a learner's process has ended")
            return 1
    say(f"{role.lower()} ends")
    time.sleep(SECONDS_TO_DISCONNECT)
    return 0


def start_collector(port: int):
    shared.enter_folder()
    from ding.worker import create_comm_collector

    config = shared.load_config().system.collector
    config.port = port
    collector = create_comm_collector(config)
    collector.start()
    return collector


def start_learner(port: int):
    """One process, or one for each GPU of a ddp-learner's pod: the controller sets the ranks of the pod's GPUs."""
    if int(os.environ.get("WORLD_SIZE", 1)) > 1 and "RANK" not in os.environ:
        first = int(os.environ["START_RANK"])
        return [subprocess.Popen([sys.executable, __file__], env={**os.environ, "RANK": str(rank)})
                for rank in range(first, first + int(os.environ["LOCAL_WORLD_SIZE"]))]
    shared.enter_folder()
    import torch
    from ding.worker import create_comm_learner

    if not torch.cuda.is_available():
        sys.modules["ding.worker.learner.comm.base_comm_learner"].dist_init = join_without_gpus
    config = shared.load_config().system.learner
    config.port = port  # with several processes DI-engine adds the rank
    learner = create_comm_learner(config)
    learner.start()
    return learner


def join_without_gpus():
    """DI-engine's own dist_init needs NCCL and a GPU for each process."""
    import ding
    import torch.distributed

    ding.enable_linklink = True  # else it moves what it logs to the GPU before it sums it up
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    torch.distributed.init_process_group("gloo", rank=rank, world_size=size)
    return rank, size


def start_aggregator(port: int):
    """Between the coordinator and the processes of a learner with several GPUs."""
    from ding.worker import LearnerAggregator
    from easydict import EasyDict

    os.chdir("/tmp")  # its log
    aggregator = LearnerAggregator(EasyDict(
        master=dict(host="0.0.0.0", port=port + 1), slave=dict(host="0.0.0.0", port=port), learner={}))
    aggregator.start()
    return aggregator


ROLES = {"COLLECTOR": start_collector, "LEARNER": start_learner, "AGGREGATOR": start_aggregator}

if __name__ == "__main__":
    try:
        status = main()
    except BaseException:
        traceback.print_exc()
        status = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)
