package tidemark;

import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import java.util.Queue;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.StructType;

/**
 * Finds a task's records that may be late, and gives when the highest times of its partitions arrived: as a row of each
 * rise, with the partition as packed number, the first step, the last step as time, the highest time, and as records the
 * number of events whose step is not that of their arrival.
 */
final class ArrivalRows implements Iterator<InternalRow> {
    // The last columns of a judged record.
    private static final int PARTITION = 3;
    private static final int TIMESTAMP = 2;
    private static final int TIME = 1;

    private final FoldSpec spec;
    private final ArrivalSpec arrival;
    private final int columns;
    private final Map<Integer, ArrivalLane> lanes = new HashMap<>();
    private final Queue<ArrivalLane.Rise> rises = new ArrayDeque<>();
    private final FoldedRow row;
    private ArrivalLane lane;
    private int partition = -1;

    ArrivalRows(FoldSpec spec, StructType judged, StructType folded) {
        this.spec = spec;
        arrival = spec.arrival();
        columns = judged.length();
        row = new FoldedRow(spec, folded, FoldSpec.RISE);
    }

    @Override
    public boolean hasNext() {
        return !rises.isEmpty();
    }

    @Override
    public InternalRow next() {
        ArrivalLane.Rise rise = rises.remove();
        row.put(rise.partition(), rise.unsettled());
        row.putArrival(rise.first(), rise.last());
        row.putMaxEventTime(rise.highest() == ArrivalSpec.NONE ? Aggregate.Join.MAX.neutral : rise.highest());
        return row.row();
    }

    /** Takes a record; returns whether it may be late, at {@link #step()}. */
    boolean mayBeLate(InternalRow record) {
        if (arrival == null) {
            return false;
        }
        int own = record.getInt(columns - PARTITION);
        if (own != partition) {
            partition = own;
            lane = lanes.computeIfAbsent(own, each -> new ArrivalLane(each, arrival, rises));
        }
        long check = spec.check(record.getLong(FoldSpec.PACKED));
        long moving = record.isNullAt(FoldSpec.MOVING) ? ArrivalSpec.NONE : record.getLong(FoldSpec.MOVING);
        lane.arrive(record.getLong(columns - TIMESTAMP), arrival.isEvent(check), moving);
        // A record that was late before the batch is late at any step, and is stored with the watermark of its own.
        return check <= arrival.lastTimed() && (check > 0 || time(record) < lane.limit());
    }

    /** The step at which the last record arrived; 0 if batches decide what is late. */
    long step() {
        return lane == null ? 0 : lane.step();
    }

    long time(InternalRow record) {
        return record.getLong(columns - TIME);
    }

    /** Gives what remains, after the last record. */
    void end() {
        lanes.values().forEach(ArrivalLane::end);
        lanes.clear();
    }
}
