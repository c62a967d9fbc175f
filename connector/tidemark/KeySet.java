package tidemark;

import java.io.Serializable;
import java.util.List;

/**
 * A set of keys that records are grouped by.
 *
 * @param keys the indices of the keys
 * @param isOfEvents whether each record is a group of its own
 * @param flagMask bits of the flags that the readers of these groups distinguish
 * @param readers what the flags of the readers' records are
 * @param aggregates the indices of the aggregates that the readers have
 */
record KeySet(int[] keys, boolean isOfEvents, long flagMask, List<Reader> readers, int[] aggregates) implements Serializable {
    /**
     * The records of a reader.
     *
     * @param wanted the flags that they have
     * @param barred the flags that they do not have
     */
    record Reader(long wanted, long barred) implements Serializable {
        boolean takes(long flags) {
            return (flags & wanted) == wanted && (flags & barred) == 0;
        }
    }

    /** Whether any reader has records with these flags: if not, they are not grouped. */
    boolean takes(long flags) {
        return readers.stream().anyMatch(reader -> reader.takes(flags));
    }
}
