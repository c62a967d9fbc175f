package tidemark;

import java.util.Iterator;
import java.util.NoSuchElementException;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.StructType;

/** The groups of a task as rows, set by set, and at the end its statistics. A row is valid until the next one. */
final class GroupRows implements Iterator<InternalRow> {
    private final TaskGroups groups;
    private final FoldSpec spec;
    private final StructType folded;
    private final int sets;
    private int set;
    private FoldedRow row;
    private int place;

    GroupRows(TaskGroups groups, FoldSpec spec, StructType folded) {
        this.groups = groups;
        this.spec = spec;
        this.folded = folded;
        sets = spec.sets().size();
        begin(0);
    }

    @Override
    public boolean hasNext() {
        return set <= sets;
    }

    @Override
    public InternalRow next() {
        if (!hasNext()) {
            throw new NoSuchElementException();
        }
        GroupTable table = groups.table(set);
        put(table);
        place = table.next(place);
        if (place < 0) {
            FoldedRow last = row;
            begin(set + 1);
            return last.row();
        }
        return row.row();
    }

    /** Goes to the first group of this set, or of the first after it that has any. */
    private void begin(int first) {
        for (set = first; set <= sets; set++) {
            GroupTable table = groups.table(set);
            place = table == null ? -1 : table.next(-1);
            if (place >= 0) {
                row = new FoldedRow(spec, folded, set < sets ? set : FoldSpec.STATISTICS);
                return;
            }
        }
    }

    private void put(GroupTable table) {
        int upper = (int) (table.key(place) >>> 32);
        int lower = (int) table.key(place);
        if (set == sets) {
            row.put(groups.packed().packed(upper), table.records(place));
            row.putStatistics(table.aggregate(place, 0), groups.age(lower));
            return;
        }
        row.put(groups.packed().packedOfSet(upper), table.records(place));
        groups.putKeys(set, lower, row);
        int[] aggregates = spec.sets().get(set).aggregates();
        for (int index = 0; index < aggregates.length; index++) {
            int aggregate = aggregates[index];
            long value = table.aggregate(place, index);
            TextNumbers texts = groups.valueTexts(aggregate);
            if (texts == null) {
                row.putAggregate(aggregate, value);
            } else {
                row.putText(aggregate, texts.text((int) value), table.time(place, index));
            }
        }
    }
}
