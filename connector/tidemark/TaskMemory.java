package tidemark;

import org.apache.spark.memory.MemoryConsumer;
import org.apache.spark.memory.MemoryMode;
import org.apache.spark.memory.TaskMemoryManager;

/**
 * The part of Spark's memory that the dictionaries and groups of a task take. They are Java's own arrays, which Spark
 * counts here. Nothing is written to a disk: if there is too little memory, the groups are given and begun again. The
 * little that a first block needs is used in any case.
 */
final class TaskMemory extends MemoryConsumer {
    private final long most;
    private volatile boolean isExceeded;

    /** Takes at most a number of bytes, and never more than the task may have. */
    TaskMemory(TaskMemoryManager manager, long most) {
        super(manager, manager.pageSizeBytes(), MemoryMode.ON_HEAP);
        this.most = most;
    }

    /** Takes bytes, if as many are left for Spark's own operators of the task; returns whether it did. */
    boolean take(long bytes) {
        if (getUsed() + bytes > most) {
            return false;
        }
        long granted = acquireMemory(2 * bytes);
        boolean isEnough = granted == 2 * bytes;
        freeMemory(isEnough ? bytes : granted);
        return isEnough;
    }

    /** Has the groups given after this record. */
    void exceed() {
        isExceeded = true;
    }

    /** Replaces an array by a larger one, if there is memory for both; returns whether there is. */
    boolean grow(long fromBytes, long toBytes) {
        boolean isTaken = take(toBytes);
        if (isTaken) {
            freeMemory(Math.min(fromBytes, getUsed() - toBytes));
        }
        return isTaken;
    }

    /** Whether the groups must be given, because the task, or another operator of it, needs memory. */
    boolean isExceeded() {
        return isExceeded;
    }

    /** Gives all memory back. */
    void clear() {
        freeMemory(getUsed());
        isExceeded = false;
    }

    /** Frees nothing at once: this may be called in the midst of a record. The groups are given after it. */
    @Override
    public long spill(long bytes, MemoryConsumer asking) {
        isExceeded |= asking != this;
        return 0;
    }
}
