package tidemark;

import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.serialization.ByteBufferDeserializer;

/**
 * Reads ranges of partitions, batch after batch. What was fetched beyond a range is kept for the next one. Offsets without
 * a record (compacted, aborted, or marks of transactions) are passed.
 */
final class RangesConsumer implements AutoCloseable {
    private static final long NANOS = 1_000_000;

    private final String topic;
    private final KafkaConsumer<ByteBuffer, ByteBuffer> client;
    private final Map<Integer, Progress> partitions = new TreeMap<>();
    private final ArrayDeque<Progress> readsAhead = new ArrayDeque<>();
    private List<Progress> unfinished = new ArrayList<>();
    private Iterator<ConsumerRecord<ByteBuffer, ByteBuffer>> fetched = Collections.emptyIterator();
    private long patienceNs;

    RangesConsumer(Consumers.Key key) {
        topic = key.topic();
        client = new KafkaConsumer<>(new HashMap<>(key.properties()), new ByteBufferDeserializer(), new ByteBufferDeserializer());
    }

    /** Begins to read ranges; {@link #next} fails if for {@code patienceMs} nothing comes. */
    void begin(List<Range> ranges, long patienceMs) {
        patienceNs = patienceMs * NANOS;
        for (Range range : ranges) {
            partitions.computeIfAbsent(range.partition(), number -> new Progress(new TopicPartition(topic, number)));
        }
        client.assign(partitions.values().stream().map(each -> each.partition).toList());
        client.pause(client.assignment());
        unfinished = new ArrayList<>();
        for (Range range : ranges) {
            Progress progress = partitions.get(range.partition());
            if (progress.position != range.from()) {
                progress.ahead.clear();
                progress.position = range.from();
                client.seek(progress.partition, range.from());
            }
            progress.end = range.to();
            readsAhead.add(progress);
            unfinished.add(progress);
        }
        client.resume(unfinished.stream().map(each -> each.partition).toList());
    }

    /** Returns the next record of any range; null at the end of all. */
    ConsumerRecord<ByteBuffer, ByteBuffer> next() {
        while (!readsAhead.isEmpty()) {
            Progress progress = readsAhead.peek();
            ConsumerRecord<ByteBuffer, ByteBuffer> record = progress.ahead.peek();
            if (record != null && record.offset() < progress.end) {
                progress.position = record.offset() + 1;
                return progress.ahead.remove();
            }
            readsAhead.remove();
        }
        while (true) {
            while (fetched.hasNext()) {
                ConsumerRecord<ByteBuffer, ByteBuffer> record = fetched.next();
                Progress progress = partitions.get(record.partition());
                if (record.offset() < progress.end) {
                    progress.position = record.offset() + 1;
                    return record;
                }
                progress.ahead.add(record);
            }
            finish();
            if (unfinished.isEmpty()) {
                return null;
            }
            fetch();
        }
    }

    /** Fetches records, or finds that offsets have none. */
    private void fetch() {
        long until = System.nanoTime() + patienceNs;
        boolean moves = false;
        while (!moves) {
            long left = until - System.nanoTime();
            if (left <= 0) {
                Progress first = unfinished.get(0);
                throw new TimeoutException("within " + patienceNs / NANOS + " ms no record of " + first.partition
                    + " came at offset " + first.position + ", and the batch ends at " + first.end);
            }
            fetched = client.poll(Duration.ofNanos(left)).iterator();
            moves = fetched.hasNext();
            for (Progress progress : unfinished) {
                moves |= !fetched.hasNext() && pass(progress);
            }
        }
    }

    /** Passes offsets that have no record; returns whether there are any. All that was fetched must have been taken. */
    private boolean pass(Progress progress) {
        long position = client.position(progress.partition);
        boolean moves = progress.ahead.isEmpty() && position > progress.position;
        if (moves) {
            progress.position = position;
        }
        return moves;
    }

    /** Pauses partitions whose ranges were read to the end. */
    private void finish() {
        List<TopicPartition> over = new ArrayList<>();
        unfinished.removeIf(progress -> {
            boolean isOver = progress.isOver() || pass(progress) && progress.isOver();
            if (isOver) {
                progress.position = progress.end;
                over.add(progress.partition);
            }
            return isOver;
        });
        client.pause(over);
    }

    @Override
    public void close() {
        client.close(Duration.ZERO);
    }
}
