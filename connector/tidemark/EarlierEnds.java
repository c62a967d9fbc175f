package tidemark;

import java.util.ArrayDeque;
import java.util.Map;

/** Remembers how far the topic could be read at earlier plans, by the monotonic clock: a few plans, a step apart. */
final class EarlierEnds {
    private record Seen(long nanos, PlannedOffsets ends) { }

    private final long ageNanos;
    private final long stepNanos;
    private final ArrayDeque<Seen> younger = new ArrayDeque<>();
    private PlannedOffsets aged = new PlannedOffsets(Map.of(), null);

    EarlierEnds(long ageNanos, long stepNanos) {
        this.ageNanos = ageNanos;
        this.stepNanos = stepNanos;
    }

    void add(long nanos, PlannedOffsets ends) {
        if (younger.isEmpty() || nanos - younger.getLast().nanos() >= stepNanos) {
            younger.add(new Seen(nanos, ends));
        }
    }

    /** Returns the newest ends that have the age; a partition that they lack is new since. */
    PlannedOffsets aged(long nanos) {
        while (!younger.isEmpty() && nanos - younger.getFirst().nanos() >= ageNanos) {
            aged = younger.removeFirst().ends();
        }
        return aged;
    }
}
