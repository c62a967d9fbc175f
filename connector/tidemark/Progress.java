package tidemark;

import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.TopicPartition;

/** How far a consumer has read a partition. */
final class Progress {
    final TopicPartition partition;
    /** Records that were fetched, and are after the range of the last batch. */
    final ArrayDeque<ConsumerRecord<ByteBuffer, ByteBuffer>> ahead = new ArrayDeque<>();
    /** The offset after what was taken, or was found to have no record. */
    long position = -1;
    /** The offset after the range that is read; that of {@code position} if none is. */
    long end = -1;

    Progress(TopicPartition partition) {
        this.partition = partition;
    }

    /** Whether all records of the range were taken. */
    boolean isOver() {
        return position >= end || !ahead.isEmpty() && ahead.peek().offset() >= end;
    }
}
