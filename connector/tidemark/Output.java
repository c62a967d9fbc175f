package tidemark;

import java.io.Serializable;
import java.util.List;

/**
 * What a fold gives of the groups of a set: one row for groups that differ in nothing else.
 *
 * @param set the index of the set
 * @param keys the indices of the set's keys that rows have
 * @param sketched the indices of the set's keys of whose values rows have sketches
 * @param flagMask bits of the flags that the readers of these rows distinguish
 * @param readers what the flags of the readers' records are
 * @param aggregates the indices of the aggregates that the readers have
 */
record Output(int set, int[] keys, int[] sketched, long flagMask, List<Reader> readers, int[] aggregates, Panes panes) implements Serializable {
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

    /**
     * Panes that are unions of the fold's.
     *
     * @param radix what a packed number is divided by to get the index of the fold's pane
     * @param foldMs the length of the fold's panes, in milliseconds
     * @param foldShiftMs what is added to a time so that they start at multiples of their length
     * @param ms the length of these panes; 0 for those of the fold
     * @param shiftMs what is added to a time for these panes
     */
    record Panes(long radix, long foldMs, long foldShiftMs, long ms, long shiftMs) implements Serializable {
        /** Returns the packed number with the fold's pane with which this pane starts, unless that would be before 1970. */
        long first(long packed) {
            if (ms == 0) {
                return packed;
            }
            long pane = packed / radix;
            long start = (pane * foldMs - foldShiftMs + shiftMs) / ms * ms - shiftMs;
            return start < -foldShiftMs ? packed : packed - (pane - (start + foldShiftMs) / foldMs) * radix;
        }
    }

    /** Whether any reader has records with these flags: if not, there is no row of them. */
    boolean takes(long flags) {
        return readers.stream().anyMatch(reader -> reader.takes(flags));
    }

    /** Whether rows are the groups of the set: nothing is joined. */
    boolean isOfGroups(KeySet own) {
        return keys.length == own.keys().length && sketched.length == 0 && panes.ms() == 0 && own.outputs().size() == 1;
    }
}
