"""Starts DI-engine's coordinator in the coordinator's pod, and ends when the policy has reached the stop value.

As `ding -m dist --module coordinator`, with three differences: lost collectors do no harm (elastic.py), the process ends
when training is over, although threads may still wait for answers of collectors, and it ends with status 1 after any
error of its start, so that the job fails or is retried instead of waiting for good."""

import logging
import os
import shutil
import sys
import time
import traceback

import shared
from shared import say


def main() -> int:
    shared.enter_folder()
    from elastic import ElasticCoordinator

    quieten()
    config = shared.load_config()
    config.system.coordinator.port = int(os.environ["COORDINATOR_PORT"])
    coordinator = ElasticCoordinator(config)
    begin = time.monotonic()
    coordinator.start()
    while not coordinator.system_shutdown_flag:
        time.sleep(0.5)
    say(f"trained: the stop value {config.main.env.stop_value} was reached after {time.monotonic() - begin:.0f} s; "
        f"the policy is in {os.path.join(os.getcwd(), 'policy')}")
    shutil.rmtree("data", ignore_errors=True)  # trajectories: hundreds of small files a second
    return 0


def quieten() -> None:
    """Of the coordinator's log, which has lines for each sample, keeps those about connections; none of Flask's."""
    logging.getLogger("werkzeug").disabled = True
    logging.getLogger("coordinator_logger").addFilter(
        lambda record: any(word in record.getMessage() for word in ("onnect", "replicas", "Exit", "pipeline")))


if __name__ == "__main__":
    try:
        status = main()
    except SystemExit as error:
        status = error.code if isinstance(error.code, int) else 1
    except BaseException:
        traceback.print_exc()
        status = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)  # sys.exit would wait for the threads
