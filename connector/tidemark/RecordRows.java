package tidemark;

import java.util.Arrays;
import java.util.stream.IntStream;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.StructType;

/**
 * The rows of one record: one for each set of events that it belongs to, and one if it is rejected. A record that may be
 * late has a row for each set, with its step and time, and one with its fields: the driver takes one or the other.
 */
final class RecordRows {
    private final FoldSpec spec;
    private final boolean[] areTexts;
    private final int rejectedFields;
    /** The sets in which each record is a group of its own, and their rows. */
    private final int[] sets;
    private final FoldedRow[] ofEvents;
    private final FoldedRow ofRejected;
    /** By set, and at the end the row with the fields: the rows of a record that may be late. */
    private final FoldedRow[] doubtful;
    private final InternalRow[] ready;
    private int count;
    private int given;

    RecordRows(FoldSpec spec, StructType judged, StructType folded) {
        this.spec = spec;
        areTexts = spec.areTexts(judged);
        rejectedFields = ((StructType) judged.fields()[FoldSpec.REJECTED].dataType()).length();
        sets = IntStream.range(0, spec.sets().size()).filter(set -> spec.sets().get(set).isOfEvents()).toArray();
        ofEvents = Arrays.stream(sets).mapToObj(set -> new FoldedRow(spec, folded, set)).toArray(FoldedRow[]::new);
        ofRejected = new FoldedRow(spec, folded, FoldSpec.REJECTED_RECORD);
        int all = spec.sets().size();
        doubtful = new FoldedRow[spec.arrival() == null ? 0 : all + 1];
        Arrays.setAll(doubtful, set -> new FoldedRow(spec, folded, set < all ? set : FoldSpec.REJECTED_RECORD));
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
        for (int index = 0; index < sets.length; index++) {
            int ofSet = packed.ofSet(sets[index], number);
            if (ofSet != PackedNumbers.NOT_COUNTED) {
                putEvent(ofEvents[index], spec.sets().get(sets[index]), record, packed.packedOfSet(ofSet));
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
        int all = spec.sets().size();
        boolean isCounted = spec.check(packed) <= spec.lastCounted();
        for (int set = 0; isCounted && set < all; set++) {
            putEvent(doubtful[set], spec.sets().get(set), record, packed);
            doubtful[set].putArrival(step, time);
            ready[count++] = doubtful[set].row();
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

    private void putEvent(FoldedRow row, KeySet set, InternalRow record, long packed) {
        row.put(packed, 1);
        for (int key : set.keys()) {
            row.putKey(key, key(record, key));
        }
        for (int aggregate : set.aggregates()) {
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
