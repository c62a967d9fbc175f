package tidemark;

import java.io.Serializable;
import java.util.Arrays;
import java.util.List;

/** Offsets of a partition, from the first (inclusive) to the last (exclusive). */
record Range(int partition, long from, long to) implements Serializable {
    /** Reads {@code partition:from:to,...}. */
    static List<Range> parse(String text) {
        return Arrays.stream(text.split(",")).filter(each -> !each.isEmpty()).map(each -> {
            String[] parts = each.split(":");
            return new Range(Integer.parseInt(parts[0]), Long.parseLong(parts[1]), Long.parseLong(parts[2]));
        }).toList();
    }

    long size() {
        return to - from;
    }
}
