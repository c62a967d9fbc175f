package tidemark;

import java.util.Map;
import java.util.TreeMap;

/**
 * Decides where a batch ends if it is a span of arrival: every record that arrived before a time is in it or in an earlier
 * batch, so the watermark at that time does not depend on how the topic was cut. The arrival of a record is the highest
 * Kafka timestamp of its partition up to it, so a partition's end for a time is its first offset with a timestamp at or
 * after it.
 *
 * <p>A time is complete if nothing that arrived before it is hidden by an open transaction. Such records hold the cut of
 * all partitions: if the others went on, the watermark would go on without them, and they would be late.
 */
public final class ArrivalCut {
    static final long STEP_MS = 200;
    /** After this many questions, any batch that has records is good enough. */
    private static final int ENOUGH = 8;

    /** The first record of a partition at or after a time. */
    public record First(long offset, long timestamp) { }

    /** Finds the first record at or after a time, in milliseconds; lacks partitions without such a record. */
    public interface Log {
        Map<Integer, First> at(long time);
    }

    /** A time at which the batch can end; no record arrived from {@code until} to {@code next}. */
    private record Cut(PlannedOffsets ends, boolean isComplete, long count, long next) {
        long until() {
            return ends.until();
        }

        /** Returns the last step with the same ends that is below {@code limit}. */
        Cut raised(long limit) {
            long last = Math.min(Math.floorDiv(next, STEP_MS) * STEP_MS, limit - STEP_MS);
            return new Cut(ends.at(Math.max(until(), last)), isComplete, count, next);
        }
    }

    private final PlannedOffsets before;
    private final LogEnds ends;
    private final PlannedOffsets earlier;
    private final long most;
    private final Log log;

    /**
     * @param before the end of the batch before, with its {@code until}
     * @param earlier offsets below which a record has waited so long that its timestamp must be ahead of the clock
     * @param most the limit of a batch, in offsets
     * @param log what {@code ends} is of; records after {@code ends} are left to later batches
     */
    public ArrivalCut(PlannedOffsets before, LogEnds ends, PlannedOffsets earlier, long most, Log log) {
        this.before = before;
        this.ends = ends;
        this.earlier = earlier;
        this.most = most;
        this.log = log;
    }

    /** Returns the end of the batch: with the last time up to {@code newest} that is complete and within the limit. */
    public PlannedOffsets to(long newest) {
        Cut top = at(Math.max(newest, before.until()));
        if (isWithin(top)) {
            return top.ends().toward(aheadOfClock(top), most - top.count());
        }
        Cut low = at(before.until());
        if (!isWithin(low)) {
            // What arrived before an earlier `until` counts as arriving at it, so any part of it can be read at once.
            return before.toward(low.ends(), most);
        }
        low = low.raised(top.until());
        for (int asked = 0; hasStepsBetween(low, top) && (low.count() == 0 || isSmall(low) && asked < ENOUGH); asked++) {
            Cut middle = at(between(low, top, asked));
            if (isWithin(middle)) {
                low = middle.raised(top.until());
            } else {
                top = middle;
            }
        }
        return top.isComplete() && isSmall(low) && !hasStepsBetween(low, top) ? withinStep(low, top) : low.ends();
    }

    private Cut at(long until) {
        Map<Integer, First> first = log.at(until);
        Map<Integer, Long> to = new TreeMap<>();
        boolean isComplete = true;
        long next = Long.MAX_VALUE;
        for (Map.Entry<Integer, Long> each : ends.stable().byPartition().entrySet()) {
            int partition = each.getKey();
            long end = each.getValue();
            First record = first.get(partition);
            if (record != null && record.offset() <= end) {
                end = record.offset();
                next = Math.min(next, record.timestamp());
            } else {
                isComplete &= end >= ends.high().of(partition);
            }
            to.put(partition, Math.max(before.of(partition), end));
        }
        PlannedOffsets cut = new PlannedOffsets(to, until);
        return new Cut(cut, isComplete, before.countTo(cut), next);
    }

    private boolean isWithin(Cut cut) {
        return cut.isComplete() && cut.count() <= most;
    }

    private boolean isSmall(Cut cut) {
        return cut.count() < most - cut.count();
    }

    private static boolean hasStepsBetween(Cut low, Cut top) {
        return top.until() - low.until() > STEP_MS;
    }

    /**
     * Returns a step between two others: where a batch has three quarters of the limit if records arrive evenly. Every
     * other question is the middle, so that the steps are halved whatever the rate.
     */
    private long between(Cut low, Cut top, int asked) {
        long steps = (top.until() - low.until()) / STEP_MS;
        boolean isEven = top.isComplete() && asked % 2 == 0;
        double share = isEven ? (0.75 * most - low.count()) / (top.count() - low.count()) : 0.5;
        return low.until() + STEP_MS * Math.max(1, Math.min(steps - 1, (long) (share * steps)));
    }

    /** Fills a batch from a step that is too large. All records of the step are judged alike, so it can be cut anywhere. */
    private PlannedOffsets withinStep(Cut low, Cut top) {
        PlannedOffsets within = low.ends().toward(top.ends(), most - low.count());
        return within.isAt(top.ends()) ? top.ends() : within;
    }

    /** Returns the ends with the records that would wait for the clock to reach their timestamps, and hold their partitions. */
    private PlannedOffsets aheadOfClock(Cut top) {
        Map<Integer, Long> to = new TreeMap<>(top.ends().byPartition());
        to.replaceAll((partition, end) -> Math.max(end, Math.min(ends.stable().of(partition), earlier.of(partition))));
        return new PlannedOffsets(to, top.until());
    }
}
