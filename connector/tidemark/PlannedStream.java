package tidemark;

import java.util.ArrayList;
import java.util.Iterator;
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

/**
 * Decides where each batch ends: at the end of the topic, or after so many offsets, in proportion to what waits; or at an
 * arrival that is the same in all partitions.
 */
final class PlannedStream implements MicroBatchStream, SupportsTriggerAvailableNow {
    private final PlannedOffsets starts;
    private final long most;
    private final TopicEnds ends;
    /** Null if batches do not end at arrivals. */
    private final ArrivalPlan arrival;
    /** The end of the topic when a query began that reads to it; null in a query without end, and by arrival. */
    private PlannedOffsets goal;

    PlannedStream(CaseInsensitiveStringMap options) {
        String before = options.get("arrival.before");
        starts = PlannedOffsets.ofJson(options.get("starts")).at(before == null ? null : Long.valueOf(before));
        most = options.getLong("max.records", Long.MAX_VALUE);
        ends = new TopicEnds(options.get("topic"), Consumers.properties(options));
        arrival = before == null ? null : new ArrivalPlan(ends, options.getLong("settling.ms", 0));
    }

    @Override
    public void prepareForTriggerAvailableNow() {
        try {
            if (arrival == null) {
                goal = ends.after(starts);
            } else {
                arrival.toTheEnd(starts);
            }
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
        long atMost = limit instanceof ReadMaxRows rows ? rows.maxRows() : Long.MAX_VALUE;
        if (arrival != null) {
            return arrival.after(from, atMost);
        }
        return from.toward(goal == null ? ends.after(from) : goal, atMost);
    }

    @Override
    public Offset deserializeOffset(String json) {
        return PlannedOffsets.ofJson(json);
    }

    @Override
    public InputPartition[] planInputPartitions(Offset before, Offset after) {
        PlannedOffsets from = (PlannedOffsets) before;
        ArrayList<Range> ranges = new ArrayList<>();
        PlannedOffsets to = (PlannedOffsets) after;
        to.byPartition().forEach((partition, end) -> ranges.add(new Range(partition, from.of(partition), end)));
        return new InputPartition[] {new Plan(ranges, to.until())};
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

    private record Plan(ArrayList<Range> ranges, Long until) implements InputPartition { }

    private record Rows() implements PartitionReaderFactory {
        @Override
        public PartitionReader<InternalRow> createReader(InputPartition plan) {
            return new Row((Plan) plan);
        }
    }

    private static final class Row implements PartitionReader<InternalRow> {
        private final Iterator<Range> ranges;
        private final Long until;
        private InternalRow row;

        Row(Plan plan) {
            ranges = plan.ranges().iterator();
            until = plan.until();
        }

        @Override
        public boolean next() {
            boolean hasNext = ranges.hasNext();
            if (hasNext) {
                Range range = ranges.next();
                row = new GenericInternalRow(new Object[] {range.partition(), range.from(), range.to(), until});
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
