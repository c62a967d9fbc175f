package tidemark;

import java.io.InterruptedIOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ListOffsetsOptions;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.common.IsolationLevel;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.TimeoutException;

/** Asks the broker for the partitions of a topic, and for the offsets after their last committed records. */
final class TopicEnds implements AutoCloseable {
    /** Each waits for the client's own time-out. */
    private static final int ATTEMPTS = 4;

    private final String topic;
    private final Admin client;

    TopicEnds(String topic, Map<String, String> properties) {
        this.topic = topic;
        client = Admin.create(new HashMap<>(properties));
    }

    /** Returns the ends, which are at or after {@code before}. Fails if the topic is another, or the broker is away. */
    PlannedOffsets after(PlannedOffsets before) {
        for (int attempt = 1; ; attempt++) {
            try {
                return checked(before, new PlannedOffsets(ask()));
            } catch (TimeoutException error) {
                if (attempt == ATTEMPTS) {
                    throw error;
                }
            }
        }
    }

    private Map<Integer, Long> ask() {
        List<TopicPartition> partitions = answer(client.describeTopics(List.of(topic)).allTopicNames()).get(topic)
            .partitions().stream().map(each -> new TopicPartition(topic, each.partition())).toList();
        Map<TopicPartition, OffsetSpec> latest = partitions.stream()
            .collect(Collectors.toMap(each -> each, each -> OffsetSpec.latest()));
        Map<Integer, Long> ends = new TreeMap<>();
        answer(client.listOffsets(latest, new ListOffsetsOptions(IsolationLevel.READ_COMMITTED)).all())
            .forEach((partition, end) -> ends.put(partition.partition(), end.offset()));
        return ends;
    }

    private PlannedOffsets checked(PlannedOffsets before, PlannedOffsets ends) {
        before.byPartition().forEach((partition, offset) -> {
            Long end = ends.byPartition().get(partition);
            if (end == null || end < offset) {
                throw new KafkaException("partition " + partition + " of topic " + topic + " was read to offset " + offset
                    + ", but " + (end == null ? "is gone" : "ends at " + end));
            }
        });
        return ends;
    }

    private static <T> T answer(KafkaFuture<T> future) {
        try {
            return future.get();
        } catch (ExecutionException error) {
            throw error.getCause() instanceof RuntimeException cause ? cause : new KafkaException(error.getCause());
        } catch (InterruptedException error) {
            // As which Spark recognises that a query is stopped.
            throw new UncheckedIOException(new InterruptedIOException("planning was interrupted"));
        }
    }

    @Override
    public void close() {
        client.close(Duration.ZERO);
    }
}
