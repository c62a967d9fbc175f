package tidemark;

import java.util.Arrays;
import java.util.stream.IntStream;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * The rows of one record: one for each output of events that it belongs to, and one if it is rejected. A record that may be
 * late has a row for each output, with its step and time, and one with its fields: the driver takes one or the other.
 */
final class RecordRows {
    private final FoldSpec spec;
    private final boolean[] areTexts;
    private final int rejectedFields;
    /** The outputs in which each record is a group of its own, and their rows. */
    private final int[] events;
    private final FoldedRow[] ofEvents;
    private final FoldedRow ofRejected;
    /** By output, and at the end the row with the fields: the rows of a record that may be late. */
    private final FoldedRow[] doubtful;
    private final InternalRow[] ready;
    private int count;
    private int given;

    RecordRows(FoldSpec spec, StructType judged, StructType folded) {
        this.spec = spec;
        areTexts = spec.areTexts(judged);
        rejectedFields = ((StructType) judged.fields()[FoldSpec.REJECTED].dataType()).length();
        int all = spec.outputs().size();
        events = IntStream.range(0, all).filter(output -> spec.sets().get(spec.outputs().get(output).set()).isOfEvents()).toArray();
        ofEvents = Arrays.stream(events).mapToObj(output -> new FoldedRow(spec, folded, output)).toArray(FoldedRow[]::new);
        ofRejected = new FoldedRow(spec, folded, FoldSpec.REJECTED_RECORD);
        doubtful = new FoldedRow[spec.arrival() == null ? 0 : all + 1];
        Arrays.setAll(doubtful, output -> new FoldedRow(spec, folded, output < all ? output : FoldSpec.REJECTED_RECORD));
        ready = new InternalRow[all + 1];
    }

    boolean hasNext() {
        return given < count;
    }

    InternalRow next() {
        return ready[given++];
    }

    /** Makes the rows of a record, which are valid until the next record is read; {@code number} is that of its packed number. By arrival a rejected record has its step. */
    void begin(InternalRow record, PackedNumbers packed, int number, long step) {
        given = 0;
        count = 0;
        for (int index = 0; index < events.length; index++) {
            Output output = spec.outputs().get(events[index]);
            int ofSet = packed.ofSet(output.set(), number);
            if (ofSet != PackedNumbers.NOT_COUNTED) {
                putEvent(ofEvents[index], output, record, packed.packedOfSet(ofSet));
                ready[count++] = ofEvents[index].row();
            }
        }
        if (isRejected(record)) {
            ofRejected.put(record.getLong(FoldSpec.PACKED), 1);
            ofRejected.putRejected(record.getStruct(FoldSpec.REJECTED, rejectedFields));
            if (spec.arrival() != null) {
                ofRejected.putStep(step);
            }
            ready[count++] = ofRejected.row();
        }
    }

    /** Makes the rows of a record that may be late, which are in no group and not in the statistics. */
    void beginDoubtful(InternalRow record, long step, long time) {
        given = 0;
        count = 0;
        long packed = record.getLong(FoldSpec.PACKED);
        int all = spec.outputs().size();
        boolean isCounted = spec.check(packed) <= spec.lastCounted();
        for (int output = 0; isCounted && output < all; output++) {
            putEvent(doubtful[output], spec.outputs().get(output), record, packed);
            doubtful[output].putArrival(step, time);
            ready[count++] = doubtful[output].row();
        }
        doubtful[all].put(packed, 1);
        doubtful[all].putRejected(record.getStruct(FoldSpec.REJECTED, rejectedFields));
        doubtful[all].putAge(Ages.of(record));
        doubtful[all].putArrival(step, time);
        ready[count++] = doubtful[all].row();
    }

    /** By arrival all records with a trusted time have their fields, because each may be late. */
    private boolean isRejected(InternalRow record) {
        boolean hasFields = !record.isNullAt(FoldSpec.REJECTED);
        return hasFields && (spec.arrival() == null || spec.check(record.getLong(FoldSpec.PACKED)) > spec.arrival().lastTimed());
    }

    private void putEvent(FoldedRow row, Output output, InternalRow record, long packed) {
        row.put(packed, 1);
        for (int key : output.keys()) {
            row.putKey(key, key(record, key));
        }
        for (int key : output.sketched()) {
            Sketch sketch = new Sketch();
            sketch.add((UTF8String) key(record, key));
            row.putSketch(key, sketch);
        }
        for (int aggregate : output.aggregates()) {
            int ordinal = spec.inputOrdinal(aggregate);
            Aggregate.Join join = spec.aggregates().get(aggregate).join();
            if (join.isOfText()) {
                row.putText(aggregate, record.isNullAt(ordinal) ? null : record.getUTF8String(ordinal), record.getLong(spec.timeOrdinal()));
            } else {
                row.putAggregate(aggregate, record.isNullAt(ordinal) ? join.neutral : record.getLong(ordinal));
            }
        }
    }

    private Object key(InternalRow record, int key) {
        int ordinal = FoldSpec.KEYS + key;
        if (record.isNullAt(ordinal)) {
            return null;
        }
        return areTexts[key] ? record.getUTF8String(ordinal) : (Object) record.getLong(ordinal);
    }
}
