package tidemark;

import java.io.InterruptedIOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ListOffsetsOptions;
import org.apache.kafka.clients.admin.ListOffsetsResult.ListOffsetsResultInfo;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.common.IsolationLevel;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.TimeoutException;

/** Asks the broker for the partitions of a topic, and for offsets by their ends or by times. */
final class TopicEnds implements AutoCloseable {
    /** Each waits for the client's own time-out. */
    private static final int ATTEMPTS = 4;

    private final String topic;
    private final Admin client;

    TopicEnds(String topic, Map<String, String> properties) {
        this.topic = topic;
        client = Admin.create(new HashMap<>(properties));
    }

    /**
     * Returns the offsets after the last committed records, which are at or after {@code before}. Fails if the topic is
     * another, or the broker is away.
     */
    PlannedOffsets after(PlannedOffsets before) {
        return retried(() -> checked(before, stable(partitions())));
    }

    /** Returns the ends, including those of open transactions. Fails like {@link #after}. */
    LogEnds of(PlannedOffsets before) {
        return retried(() -> {
            Collection<Integer> partitions = partitions();
            // First: a record that arrives between two answers is otherwise taken for one of an open transaction.
            PlannedOffsets high = offsets(ask(partitions, OffsetSpec.latest(), IsolationLevel.READ_UNCOMMITTED));
            return new LogEnds(checked(before, stable(partitions)), high);
        });
    }

    /** Returns the first record with a timestamp at or after {@code time}, of the partitions that have one. */
    Map<Integer, ArrivalCut.First> at(long time, Collection<Integer> partitions) {
        Map<Integer, ArrivalCut.First> first = new TreeMap<>();
        OffsetSpec spec = OffsetSpec.forTimestamp(time);
        retried(() -> ask(partitions, spec, IsolationLevel.READ_UNCOMMITTED)).forEach((partition, info) -> {
            if (info.offset() >= 0) {
                first.put(partition, new ArrivalCut.First(info.offset(), info.timestamp()));
            }
        });
        return first;
    }

    private Collection<Integer> partitions() {
        return answer(client.describeTopics(List.of(topic)).allTopicNames()).get(topic)
            .partitions().stream().map(each -> each.partition()).toList();
    }

    private PlannedOffsets stable(Collection<Integer> partitions) {
        return offsets(ask(partitions, OffsetSpec.latest(), IsolationLevel.READ_COMMITTED));
    }

    private static PlannedOffsets offsets(Map<Integer, ListOffsetsResultInfo> answers) {
        Map<Integer, Long> offsets = new TreeMap<>();
        answers.forEach((partition, info) -> offsets.put(partition, info.offset()));
        return new PlannedOffsets(offsets, null);
    }

    private Map<Integer, ListOffsetsResultInfo> ask(
        Collection<Integer> partitions, OffsetSpec spec, IsolationLevel isolation) {
        Map<TopicPartition, OffsetSpec> specs = partitions.stream()
            .collect(Collectors.toMap(each -> new TopicPartition(topic, each), each -> spec));
        Map<Integer, ListOffsetsResultInfo> answers = new HashMap<>();
        answer(client.listOffsets(specs, new ListOffsetsOptions(isolation)).all())
            .forEach((partition, info) -> answers.put(partition.partition(), info));
        return answers;
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

    private static <T> T retried(Supplier<T> question) {
        for (int attempt = 1; ; attempt++) {
            try {
                return question.get();
            } catch (TimeoutException error) {
                if (attempt == ATTEMPTS) {
                    throw error;
                }
            }
        }
    }

    private static <T> T answer(KafkaFuture<T> future) {
        try {
            return future.get();
        } catch (ExecutionException error) {
            throw error.getCause() instanceof RuntimeException cause ? cause : new KafkaException(error.getCause());
        } catch (InterruptedException error) {
            throw interrupted();
        }
    }

    /** Returns the error as which Spark recognises that a query is stopped. */
    static UncheckedIOException interrupted() {
        return new UncheckedIOException(new InterruptedIOException("planning was interrupted"));
    }

    @Override
    public void close() {
        client.close(Duration.ZERO);
    }
}
