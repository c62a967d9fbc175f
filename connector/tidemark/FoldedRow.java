package tidemark;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.SpecificInternalRow;
import org.apache.spark.sql.types.StructType;

/** A row that is given again and again with other values. Columns that are never put are null. */
final class FoldedRow {
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
