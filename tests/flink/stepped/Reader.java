package stepped;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;

import org.apache.flink.api.connector.source.ReaderOutput;
import org.apache.flink.api.connector.source.SourceReader;
import org.apache.flink.core.io.InputStatus;

/** Sends what its partitions have in a step, all of it in one call, so that no watermark can come in between. */
final class Reader implements SourceReader<Event, Partition> {
    private final Stage stage;
    private final List<Partition> partitions = new ArrayList<>();
    private int steps;

    Reader(Stage stage) {
        this.stage = stage;
    }

    @Override
    public void addSplits(List<Partition> splits) {
        partitions.addAll(splits);
    }

    @Override
    public InputStatus pollNext(ReaderOutput<Event> output) {
        if (!partitions.isEmpty() && steps < stage.steps()) {
            steps++;
            stage.sent().forEach(event -> send(event, output));
            stage.done();
        }
        return InputStatus.NOTHING_AVAILABLE;
    }

    private void send(Event event, ReaderOutput<Event> output) {
        Partition partition = new Partition(event.partition());
        if (partitions.contains(partition)) {
            output.createOutputForSplit(partition.splitId()).collect(event, event.kafkaTimestamp());
        }
    }

    @Override
    public CompletableFuture<Void> isAvailable() {
        return stage.after(steps);
    }

    @Override
    public List<Partition> snapshotState(long checkpoint) {
        return partitions;
    }

    @Override
    public void start() {
    }

    @Override
    public void notifyNoMoreSplits() {
    }

    @Override
    public void close() {
    }
}
