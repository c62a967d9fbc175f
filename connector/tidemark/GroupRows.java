package tidemark;

import java.util.Collections;
import java.util.Iterator;
import java.util.NoSuchElementException;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.StructType;

/** The groups of a task as rows, output by output, and at the end its statistics. A row is valid until the next one. */
final class GroupRows implements Iterator<InternalRow> {
    private final TaskGroups groups;
    private final FoldSpec spec;
    private final StructType folded;
    private int begun;
    private Iterator<InternalRow> rows = Collections.emptyIterator();

    GroupRows(TaskGroups groups, FoldSpec spec, StructType folded) {
        this.groups = groups;
        this.spec = spec;
        this.folded = folded;
    }

    @Override
    public boolean hasNext() {
        while (!rows.hasNext() && begun <= spec.outputs().size()) {
            rows = rowsOf(begun++);
        }
        return rows.hasNext();
    }

    @Override
    public InternalRow next() {
        if (!hasNext()) {
            throw new NoSuchElementException();
        }
        return rows.next();
    }

    private Iterator<InternalRow> rowsOf(int index) {
        if (index == spec.outputs().size()) {
            return new PlainRows(groups, spec, folded, -1);
        }
        Output output = spec.outputs().get(index);
        KeySet set = spec.sets().get(output.set());
        if (set.isOfEvents()) {
            return Collections.emptyIterator();
        }
        return output.isOfGroups(set) ? new PlainRows(groups, spec, folded, index) : new JoinedRows(groups, spec, folded, index);
    }
}
