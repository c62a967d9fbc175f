"""Properties of the embedded broker: one node that is broker and controller, sized for a small machine."""

from collections.abc import Mapping
from pathlib import Path

PROPERTIES = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller_port}
controller.listener.names=CONTROLLER
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller_port}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
log.dirs={log_dir}

# A topic that does not exist is a wrong setting, and must fail.
auto.create.topics.enable=false
log.message.timestamp.type=CreateTime
# Retention uses the records' timestamps: by the default of a week, replayed old events would be deleted.
log.retention.ms=-1

# The default is three replicas, which a single node cannot have.
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1

# After a crash the new process is refused until the session of the old process expires (default 9 s; a busy machine
# needs part of it).
broker.heartbeat.interval.ms=500
broker.session.timeout.ms=5000

# No more members join: a group need not wait for them.
group.initial.rebalance.delay.ms=0

# Defaults: 50 partitions each, and 128 MB of heap for the cleaner.
offsets.topic.num.partitions=4
transaction.state.log.num.partitions=4
log.cleaner.dedupe.buffer.size=16777216
"""


def write_properties(path: Path, log_dir: Path, port: int, controller_port: int, further: Mapping[str, str]) -> None:
    """Writes the broker's properties file.

    The properties of `further` come last, so they win; in their values `{listeners}` is replaced by the default ones.
    """
    own = PROPERTIES.format(log_dir=log_dir, port=port, controller_port=controller_port)
    listeners = f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller_port}"
    lines = (f"{name}={value.replace('{listeners}', listeners)}" for name, value in further.items())
    # A backslash is an escape in a properties file.
    path.write_text(own + "\n".join(lines).replace("\\", "\\\\"))
