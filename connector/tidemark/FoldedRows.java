package tidemark;

import java.util.Collections;
import java.util.Iterator;
import java.util.NoSuchElementException;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.util.TaskCompletionListener;

/**
 * The rows that a task gives: rejected records, records that may be late, and events that are groups of their own, as they come; groups and
 * statistics at the end, and whenever there is no memory for more. A row is valid until the next one.
 */
final class FoldedRows implements Iterator<InternalRow> {
    private final FoldSpec spec;
    private final Iterator<InternalRow> records;
    private final StructType judged;
    private final StructType folded;
    private final TaskMemory memory;
    private final RecordRows ofRecord;
    private final ArrivalRows arrival;
    private TaskGroups groups;
    private Iterator<InternalRow> given = Collections.emptyIterator();
    private boolean isAtEnd;

    FoldedRows(FoldSpec spec, StructType judged, StructType folded, Iterator<InternalRow> records) {
        this.spec = spec;
        this.records = records;
        this.judged = judged;
        this.folded = folded;
        TaskContext task = TaskContext.get();
        memory = new TaskMemory(task.taskMemoryManager(), spec.limits().bytes());
        task.addTaskCompletionListener((TaskCompletionListener) context -> end());
        ofRecord = new RecordRows(spec, judged, folded);
        arrival = new ArrivalRows(spec, judged, folded);
    }

    @Override
    public boolean hasNext() {
        while (!ofRecord.hasNext() && !arrival.hasNext() && !given.hasNext()) {
            if (isAtEnd) {
                end();
                return false;
            }
            advance();
        }
        return true;
    }

    @Override
    public InternalRow next() {
        if (!hasNext()) {
            throw new NoSuchElementException();
        }
        if (ofRecord.hasNext()) {
            return ofRecord.next();
        }
        return arrival.hasNext() ? arrival.next() : given.next();
    }

    /** Takes the next record, or gives the groups. */
    private void advance() {
        isAtEnd = !records.hasNext();
        if (groups == null) {
            end();
            groups = isAtEnd ? null : new TaskGroups(spec, judged, memory);
        }
        if (isAtEnd) {
            arrival.end();
            give();
            return;
        }
        InternalRow record = records.next();
        if (arrival.mayBeLate(record)) {
            ofRecord.beginDoubtful(record, arrival.step(), arrival.time(record));
            return;
        }
        ofRecord.begin(record, groups.packed(), groups.add(record), arrival.step());
        if (memory.isExceeded()) {
            give();
        } else if (groups.isBlockFull()) {
            groups.countBlock();
            if (!groups.reserveBlock()) {
                give();
            }
        }
    }

    /** Gives all groups; the next record begins others. */
    private void give() {
        if (groups != null) {
            groups.countBlock();
            given = groups.rows(folded);
            groups = null;
        }
    }

    /** Gives the memory back of groups that have been given. */
    private void end() {
        given = Collections.emptyIterator();
        groups = null;
        memory.clear();
    }
}
