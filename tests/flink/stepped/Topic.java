package stepped;

import java.util.List;

import org.apache.flink.api.connector.source.Boundedness;
import org.apache.flink.api.connector.source.Source;
import org.apache.flink.api.connector.source.SourceReader;
import org.apache.flink.api.connector.source.SourceReaderContext;
import org.apache.flink.api.connector.source.SplitEnumerator;
import org.apache.flink.api.connector.source.SplitEnumeratorContext;
import org.apache.flink.core.io.SimpleVersionedSerializer;

/** A topic whose partitions are Flink's splits, as with its Kafka source: Flink itself takes the minimum over them. */
final class Topic implements Source<Event, Partition, Void> {
    private static final long serialVersionUID = 1;

    private final int partitions;

    Topic(int partitions) {
        this.partitions = partitions;
    }

    @Override
    public Boundedness getBoundedness() {
        return Boundedness.CONTINUOUS_UNBOUNDED;
    }

    @Override
    public SourceReader<Event, Partition> createReader(SourceReaderContext context) {
        return new Reader(Stage.current);
    }

    @Override
    public SplitEnumerator<Partition, Void> createEnumerator(SplitEnumeratorContext<Partition> context) {
        return new Assignment(partitions, context);
    }

    @Override
    public SplitEnumerator<Partition, Void> restoreEnumerator(
            SplitEnumeratorContext<Partition> context, Void checkpoint) {
        return createEnumerator(context);
    }

    @Override
    public SimpleVersionedSerializer<Partition> getSplitSerializer() {
        return new Partition.Serializer();
    }

    @Override
    public SimpleVersionedSerializer<Void> getEnumeratorCheckpointSerializer() {
        return new Nothing();
    }

    /** Partitions go round the readers. */
    private record Assignment(int partitions, SplitEnumeratorContext<Partition> context)
            implements SplitEnumerator<Partition, Void> {
        @Override
        public void addReader(int reader) {
            for (int number = reader; number < partitions; number += context.currentParallelism()) {
                context.assignSplit(new Partition(number), reader);
            }
            context.signalNoMoreSplits(reader);
        }

        @Override
        public void start() {
        }

        @Override
        public void handleSplitRequest(int reader, String host) {
        }

        @Override
        public void addSplitsBack(List<Partition> splits, int reader) {
            throw new IllegalStateException("a task has failed");
        }

        @Override
        public Void snapshotState(long checkpoint) {
            return null;
        }

        @Override
        public void close() {
        }
    }

    private static final class Nothing implements SimpleVersionedSerializer<Void> {
        @Override
        public int getVersion() {
            return 1;
        }

        @Override
        public byte[] serialize(Void nothing) {
            return new byte[0];
        }

        @Override
        public Void deserialize(int version, byte[] bytes) {
            return null;
        }
    }
}
