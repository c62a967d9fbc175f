package tidemark;

import java.util.Iterator;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.StructType;

/** The groups of a set as they are, or the statistics. A row is valid until the next one. */
final class PlainRows implements Iterator<InternalRow> {
    private final TaskGroups groups;
    private final GroupTable table;
    /** The set; null for the statistics. */
    private final KeySet own;
    private final int set;
    private final FoldedRow row;
    private int place;

    /** Takes the rows of an output, or with -1 the statistics. */
    PlainRows(TaskGroups groups, FoldSpec spec, StructType folded, int output) {
        this.groups = groups;
        boolean isStatistics = output < 0;
        set = isStatistics ? spec.sets().size() : spec.outputs().get(output).set();
        own = isStatistics ? null : spec.sets().get(set);
        table = groups.table(set);
        row = new FoldedRow(spec, folded, isStatistics ? FoldSpec.STATISTICS : output);
        place = table.next(-1);
    }

    @Override
    public boolean hasNext() {
        return place >= 0;
    }

    @Override
    public InternalRow next() {
        int upper = (int) (table.key(place) >>> 32);
        int lower = (int) table.key(place);
        if (own == null) {
            row.put(groups.packed().packed(upper), table.records(place));
            row.putStatistics(table.aggregate(place, 0), groups.age(lower));
        } else {
            row.put(groups.packed().packedOfSet(upper), table.records(place));
            int[] codes = groups.codes(set, lower);
            for (int index = 0; index < codes.length; index++) {
                row.putKey(own.keys()[index], groups.text(own.keys()[index], codes[index]));
            }
            int[] aggregates = own.aggregates();
            for (int index = 0; index < aggregates.length; index++) {
                groups.put(aggregates[index], table, place, index, row);
            }
        }
        place = table.next(place);
        return row.row();
    }
}
