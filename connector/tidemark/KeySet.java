package tidemark;

import java.io.Serializable;
import java.util.List;
import java.util.stream.IntStream;

/**
 * A set of keys that records are grouped by.
 *
 * @param keys the indices of the keys
 * @param isOfEvents whether each record is a group of its own
 * @param outputs what is given of the groups
 * @param flagMask bits of the flags that the outputs distinguish
 * @param aggregates the indices of the aggregates that the outputs have
 */
record KeySet(int[] keys, boolean isOfEvents, List<Output> outputs, long flagMask, int[] aggregates) implements Serializable {
    static KeySet of(int[] keys, boolean isOfEvents, List<Output> outputs) {
        long flagMask = outputs.stream().mapToLong(Output::flagMask).reduce(0, (one, other) -> one | other);
        int[] aggregates = outputs.stream().flatMapToInt(output -> IntStream.of(output.aggregates())).sorted().distinct().toArray();
        return new KeySet(keys, isOfEvents, outputs, flagMask, aggregates);
    }

    /** Whether any output has records with these flags: if not, they are not grouped. */
    boolean takes(long flags) {
        return outputs.stream().anyMatch(output -> output.takes(flags));
    }
}
