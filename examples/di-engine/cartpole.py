"""DQN on CartPole, as in DI-engine's own example for Kubernetes (dizoo/classic_control/cartpole/config/parallel), and how
many collectors and learners the coordinator requests from nervex-server at its start.

Paths are relative: every process works in the job's folder of the shared volume (shared.py)."""

from easydict import EasyDict

COLLECTORS = 2
LEARNER_GPUS = 0  # more than 1: an aggregator, and a process for each GPU

main_config = EasyDict(
    exp_name="cartpole",  # folder of the logs
    env=dict(
        collector_env_num=8,
        collector_episode_num=2,
        evaluator_env_num=5,
        evaluator_episode_num=1,
        stop_value=195,
    ),
    policy=dict(
        cuda=False,
        model=dict(obs_shape=4, action_shape=2, encoder_hidden_size_list=[128, 128, 64], dueling=True),
        nstep=3,
        discount_factor=0.97,
        learn=dict(multi_gpu=LEARNER_GPUS > 1, batch_size=32, learning_rate=0.001,
                   learner=dict(learner_num=1, send_policy_freq=1)),
        collect=dict(n_sample=16, collector=dict(collector_num=COLLECTORS, update_policy_second=3)),
        eval=dict(evaluator=dict(eval_freq=50)),
        other=dict(
            eps=dict(type="exp", start=0.95, end=0.1, decay=100000),
            replay_buffer=dict(replay_buffer_size=100000, enable_track_used_data=False),
            # The number of collect tasks follows the collectors that are connected. Seconds between evaluations.
            commander=dict(collector_task_space=0, learner_task_space=1, eval_interval=5),
        ),
    ),
)

create_config = EasyDict(
    env=dict(type="cartpole", import_names=["dizoo.classic_control.cartpole.envs.cartpole_env"]),
    env_manager=dict(type="base"),
    policy=dict(type="dqn_command"),
    learner=dict(type="base", import_names=["ding.worker.learner.base_learner"]),
    collector=dict(type="zergling", import_names=["ding.worker.collector.zergling_parallel_collector"]),
    commander=dict(type="elastic", import_names=["elastic"]),  # SoloCommander, see elastic.py
    comm_learner=dict(type="flask_fs", import_names=["ding.worker.learner.comm.flask_fs_learner"]),
    comm_collector=dict(type="flask_fs", import_names=["ding.worker.collector.comm.flask_fs_collector"]),
)

system_config = EasyDict(
    coordinator=dict(
        # No system_addr here: it would override KUBERNETES_SERVER_URL, which the controller sets.
        operator_server=dict(
            init_replicas_request=dict(
                collectors={"replicas": COLLECTORS},
                learners={"replicas": 1, "gpus": str(LEARNER_GPUS)},
            ),
            collector_target_num=COLLECTORS,
            learner_target_num=1,
        ),
    ),
    path_data="./data",
    path_policy="./policy",
    communication_mode="auto",
    learner_gpu_num=max(1, LEARNER_GPUS),
)
