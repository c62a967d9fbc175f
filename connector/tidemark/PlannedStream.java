package tidemark;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.connector.read.streaming.Offset;
import org.apache.spark.sql.connector.read.streaming.ReadLimit;
import org.apache.spark.sql.connector.read.streaming.ReadMaxRows;
import org.apache.spark.sql.connector.read.streaming.SupportsTriggerAvailableNow;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** Decides where each batch ends: at the end of the topic, or after so many offsets, in proportion to what waits. */
final class PlannedStream implements MicroBatchStream, SupportsTriggerAvailableNow {
    private final PlannedOffsets starts;
    private final long most;
    private final TopicEnds ends;
    /** The end of the topic when a query began that reads to it; null in a query without end. */
    private PlannedOffsets goal;

    PlannedStream(CaseInsensitiveStringMap options) {
        starts = PlannedOffsets.ofJson(options.get("starts"));
        most = options.getLong("max.records", Long.MAX_VALUE);
        ends = new TopicEnds(options.get("topic"), Consumers.properties(options));
    }

    @Override
    public void prepareForTriggerAvailableNow() {
        try {
            goal = ends.after(starts);
        } catch (RuntimeException error) {
            stop();  // Spark does not, before a query has begun
            throw error;
        }
    }

    @Override
    public ReadLimit getDefaultReadLimit() {
        return ReadLimit.maxRows(most);
    }

    @Override
    public Offset initialOffset() {
        return starts;
    }

    @Override
    public Offset latestOffset() {
        throw new UnsupportedOperationException("Spark asks with the offset before and a limit");
    }

    @Override
    public Offset latestOffset(Offset before, ReadLimit limit) {
        PlannedOffsets from = (PlannedOffsets) before;
        PlannedOffsets to = goal == null ? ends.after(from) : goal;
        return limit instanceof ReadMaxRows rows ? limited(from, to, rows.maxRows()) : to;
    }

    /** Returns the end of a batch of about {@code most} offsets. No partition that has records is left out. */
    private static PlannedOffsets limited(PlannedOffsets from, PlannedOffsets to, long most) {
        Map<Integer, Long> waiting = new TreeMap<>();
        to.byPartition().forEach((partition, end) -> waiting.put(partition, end - from.of(partition)));
        double total = waiting.values().stream().mapToDouble(Long::doubleValue).sum();
        if (total <= most) {
            return to;
        }
        Map<Integer, Long> limited = new TreeMap<>();
        waiting.forEach((partition, count) -> {
            double share = most * (count / total);
            limited.put(partition, from.of(partition) + Math.min(count, (long) (share < 1 ? Math.ceil(share) : share)));
        });
        return new PlannedOffsets(limited);
    }

    @Override
    public Offset deserializeOffset(String json) {
        return PlannedOffsets.ofJson(json);
    }

    @Override
    public InputPartition[] planInputPartitions(Offset before, Offset after) {
        PlannedOffsets from = (PlannedOffsets) before;
        ArrayList<Range> ranges = new ArrayList<>();
        ((PlannedOffsets) after).byPartition().forEach((partition, end) -> ranges.add(new Range(partition, from.of(partition), end)));
        return new InputPartition[] {new Plan(ranges)};
    }

    @Override
    public PartitionReaderFactory createReaderFactory() {
        return new Rows();
    }

    @Override
    public void commit(Offset end) {
        // Positions are committed in the ledger.
    }

    @Override
    public void stop() {
        ends.close();
    }

    private record Plan(ArrayList<Range> ranges) implements InputPartition { }

    private record Rows() implements PartitionReaderFactory {
        @Override
        public PartitionReader<InternalRow> createReader(InputPartition plan) {
            return new Row(((Plan) plan).ranges().iterator());
        }
    }

    private static final class Row implements PartitionReader<InternalRow> {
        private final Iterator<Range> ranges;
        private InternalRow row;

        Row(Iterator<Range> ranges) {
            this.ranges = ranges;
        }

        @Override
        public boolean next() {
            boolean hasNext = ranges.hasNext();
            if (hasNext) {
                Range range = ranges.next();
                row = new GenericInternalRow(new Object[] {range.partition(), range.from(), range.to()});
            }
            return hasNext;
        }

        @Override
        public InternalRow get() {
            return row;
        }

        @Override
        public void close() {
            // nothing is open
        }
    }
}
