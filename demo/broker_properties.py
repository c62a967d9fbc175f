"""Properties of the embedded broker: one node, broker and controller in one, sized for a small machine."""

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

# A topic that nobody created is a mistake in a setting, and must look like one.
auto.create.topics.enable=false
log.message.timestamp.type=CreateTime
# Retention goes by the records' timestamps: with the default week a replay of old events would vanish.
log.retention.ms=-1

# One node cannot keep the three copies that these default to.
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1

# After a crash the new process is turned away until the session of the old one has run out (default 9 s; a busy
# machine needs some of it).
broker.heartbeat.interval.ms=500
broker.session.timeout.ms=5000

# Nobody else is coming: a group need not wait for more members.
group.initial.rebalance.delay.ms=0

# The defaults are 50 partitions each, and 128 MB of heap for the cleaner.
offsets.topic.num.partitions=4
transaction.state.log.num.partitions=4
log.cleaner.dedupe.buffer.size=16777216
"""


def write_properties(path: Path, log_dir: Path, port: int, controller_port: int, further: Mapping[str, str]) -> None:
    """Write the broker's properties file. `further` ones come last, and so win; `{listeners}` in them is its own."""
    own = PROPERTIES.format(log_dir=log_dir, port=port, controller_port=controller_port)
    listeners = f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller_port}"
    lines = (f"{name}={value.replace('{listeners}', listeners)}" for name, value in further.items())
    # A backslash is an escape there.
    path.write_text(own + "\n".join(lines).replace("\\", "\\\\"))
