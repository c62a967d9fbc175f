package tidemark;

import org.apache.spark.sql.catalyst.InternalRow;

/** Rounds ages of records, so that a batch has few different ones. */
final class Ages {
    private static final long YOUNG_MS = 10_000;
    private static final long YOUNG_STEP_MS = 50;

    private Ages() { }

    /** Returns the rounded age of a judged record; 0 without one. */
    static long of(InternalRow record) {
        return record.isNullAt(FoldSpec.AGE) ? 0 : rough(record.getLong(FoldSpec.AGE));
    }

    /** Rounds an age in milliseconds down: to 50 ms below 10 s, then to an eighth of its highest bit; at least 0. */
    static long rough(long age) {
        if (age <= 0) {
            return 0;
        }
        long step = age < YOUNG_MS ? YOUNG_STEP_MS : Long.highestOneBit(age) >>> 3;
        return age - age % step;
    }
}
