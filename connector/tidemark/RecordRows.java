package tidemark;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/** The rows of one record: one for each set of events that it belongs to, and one if it is rejected. */
final class RecordRows {
    private final FoldSpec spec;
    private final StructType judged;
    private final int rejectedFields;
    /** By set; null for sets whose groups may have several events. */
    private final FoldedRow[] ofEvents;
    private final FoldedRow ofRejected;
    private final InternalRow[] ready;
    private int count;
    private int given;

    RecordRows(FoldSpec spec, StructType judged, StructType folded) {
        this.spec = spec;
        this.judged = judged;
        rejectedFields = ((StructType) judged.fields()[FoldSpec.REJECTED].dataType()).length();
        ofEvents = new FoldedRow[spec.sets().size()];
        for (int set = 0; set < ofEvents.length; set++) {
            ofEvents[set] = spec.sets().get(set).isOfEvents() ? new FoldedRow(spec, folded, set) : null;
        }
        ofRejected = new FoldedRow(spec, folded, FoldSpec.REJECTED_RECORD);
        ready = new InternalRow[ofEvents.length + 1];
    }

    boolean hasNext() {
        return given < count;
    }

    InternalRow next() {
        return ready[given++];
    }

    /** Makes the rows of a record, which are valid until the next record is read; {@code number} is that of its packed number. */
    void begin(InternalRow record, PackedNumbers packed, int number) {
        given = 0;
        count = 0;
        for (int set = 0; set < ofEvents.length; set++) {
            if (ofEvents[set] != null && packed.ofSet(set, number) != PackedNumbers.NOT_COUNTED) {
                putEvent(set, record, packed.packedOfSet(packed.ofSet(set, number)));
                ready[count++] = ofEvents[set].row();
            }
        }
        if (!record.isNullAt(FoldSpec.REJECTED)) {
            ofRejected.put(record.getLong(FoldSpec.PACKED), 1);
            ofRejected.putRejected(record.getStruct(FoldSpec.REJECTED, rejectedFields));
            ready[count++] = ofRejected.row();
        }
    }

    private void putEvent(int set, InternalRow record, long packed) {
        FoldedRow row = ofEvents[set];
        row.put(packed, 1);
        for (int key : spec.sets().get(set).keys()) {
            row.putKey(key, key(record, key));
        }
        for (int aggregate : spec.sets().get(set).aggregates()) {
            int ordinal = spec.inputOrdinal(aggregate);
            row.putAggregate(aggregate, record.isNullAt(ordinal) ? spec.aggregates().get(aggregate).join().neutral : record.getLong(ordinal));
        }
    }

    private Object key(InternalRow record, int key) {
        int ordinal = FoldSpec.KEYS + key;
        if (record.isNullAt(ordinal)) {
            return null;
        }
        boolean isText = judged.fields()[ordinal].dataType().equals(DataTypes.StringType);
        return isText ? record.getUTF8String(ordinal) : (Object) record.getLong(ordinal);
    }
}
