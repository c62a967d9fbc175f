package tidemark;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.SpecificInternalRow;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.types.UTF8String;

/** A row that is given again and again with other values. Columns that are never put are null. */
final class FoldedRow {
    private static final int TIME_DIGITS = 19;

    private final FoldSpec spec;
    private final SpecificInternalRow row;

    FoldedRow(FoldSpec spec, StructType folded, int grouping) {
        this.spec = spec;
        row = new SpecificInternalRow(folded);
        row.setInt(FoldSpec.GROUPING, grouping);
    }

    void put(long packed, long records) {
        row.setLong(FoldSpec.FOLDED_PACKED, packed);
        row.setLong(spec.recordsOrdinal(), records);
    }

    /** Puts a text, the position of a record, or null. */
    void putKey(int key, Object value) {
        row.update(FoldSpec.FOLDED_KEYS + key, value);
    }

    void putAggregate(int aggregate, long value) {
        putUnlessNull(spec.aggregateOrdinal(aggregate), value, spec.aggregates().get(aggregate).join());
    }

    /** Puts a text after its time in milliseconds, or null without one. */
    void putText(int aggregate, UTF8String text, long time) {
        if (text == null) {
            row.setNullAt(spec.aggregateOrdinal(aggregate));
            return;
        }
        byte[] bytes = new byte[TIME_DIGITS + 1 + text.numBytes()];
        long rest = time;
        for (int at = TIME_DIGITS - 1; at >= 0; at--) {
            bytes[at] = (byte) ('0' + rest % 10);
            rest /= 10;
        }
        bytes[TIME_DIGITS] = ' ';
        text.writeToMemory(bytes, Platform.BYTE_ARRAY_OFFSET + TIME_DIGITS + 1);
        row.update(spec.aggregateOrdinal(aggregate), UTF8String.fromBytes(bytes));
    }

    void putSketch(int key, Sketch sketch) {
        row.update(spec.sketchOrdinal(key), sketch.bytes());
    }

    void putRejected(InternalRow fields) {
        row.update(FoldSpec.FOLDED_REJECTED, fields);
    }

    void putStatistics(long maxEventTime, long age) {
        putMaxEventTime(maxEventTime);
        putAge(age);
    }

    void putMaxEventTime(long time) {
        putUnlessNull(spec.maxEventTimeOrdinal(), time, Aggregate.Join.MAX);
    }

    void putAge(long age) {
        row.setLong(spec.ageOrdinal(), age);
    }

    /** Puts the step at which a record arrived, and its time. */
    void putArrival(long step, long time) {
        putStep(step);
        row.setLong(spec.stepOrdinal() + 1, time);
    }

    void putStep(long step) {
        row.setLong(spec.stepOrdinal(), step);
    }

    InternalRow row() {
        return row;
    }

    private void putUnlessNull(int ordinal, long value, Aggregate.Join join) {
        if (join.isNull(value)) {
            row.setNullAt(ordinal);
        } else {
            row.setLong(ordinal, value);
        }
    }
}
