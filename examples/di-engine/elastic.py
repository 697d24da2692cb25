"""DI-engine 0.5.3 with collectors that come and go. Its coordinator adds collectors that nervex-server lists, and was
not made for the loss of one. Three subclasses, so that the framework itself stays as it is."""

import os
import time

from ding.utils import COMMANDER_REGISTRY
from ding.worker import Coordinator
from ding.worker.coordinator.comm_coordinator import CommCoordinator
from ding.worker.coordinator.solo_parallel_commander import SoloCommander

from shared import say


@COMMANDER_REGISTRY.register("elastic")
class ElasticCommander(SoloCommander):
    """Decides which tasks exist and when the training is over."""

    converged = False

    def finish_collector_task(self, task_id: str, finished_task: dict) -> bool:
        """True from the first evaluation that reaches the stop value. The coordinator keeps only the latest answer and
        looks at it from time to time: the end of another collector's task would hide that the training is over."""
        self.converged = super().finish_collector_task(task_id, finished_task) or self.converged
        return self.converged

    def decrease_collector_task_space(self) -> None:
        """Also forgets the task of the collector that left. It never ends, and would count as running: one collector
        less would get tasks with each that leaves."""
        super().decrease_collector_task_space()
        self._collector_task_space.release_space()


class ElasticConnections(CommCoordinator):
    """Connects to collectors and learners and gives them their tasks."""

    def _period_sync_with_server(self) -> None:
        """Continues after errors. A collector that does not answer any more (killed, or its node lost) cannot be
        disconnected; that error would end this thread, and no collector would be added any more."""
        while not self._end_flag:
            try:
                super()._period_sync_with_server()
            except Exception as error:  # of several libraries
                say(f"sync with nervex-server: {error!r}; continues")
                time.sleep(1)

    def send_collector_task(self, collector_task: dict) -> bool:
        """False, so that the task goes to another collector, instead of an error that ends the thread."""
        try:
            return super().send_collector_task(collector_task)
        except Exception as error:
            say(f"a collector did not take its task: {error!r}")
            return False

    def _update_connection_learner(self, cur_learners: list) -> None:
        """A learner that is replaced starts with a new policy, and the coordinator would wait for the old one's results
        for good. Ends the coordinator: spec.backoffLimit says how often the job starts again."""
        lost = set(self._connection_learner) - set(cur_learners)
        if lost:
            say(f"learner {', '.join(sorted(lost))} was lost")
            os._exit(1)
        super()._update_connection_learner(cur_learners)


class ElasticCoordinator(Coordinator):
    def __init__(self, cfg) -> None:
        super().__init__(cfg)
        self._interaction = ElasticConnections(cfg.system.coordinator, self._callback, self._logger)
