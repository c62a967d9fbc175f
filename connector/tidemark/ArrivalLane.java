package tidemark;

import java.util.Queue;

/**
 * A partition of the topic, record by record. Its own times bound the watermark from above, although the task does not see
 * the other partitions: W is at most what this partition allows, or what it reached while this partition did not count.
 */
final class ArrivalLane {
    private static final long NONE = ArrivalSpec.NONE;

    /** Events at the steps {@code first} and {@code last} without a silence between them, and the highest trusted time. */
    record Rise(int partition, long first, long last, long highest, long unsettled) { }

    private final int partition;
    private final ArrivalSpec spec;
    private final Queue<Rise> rises;
    private long step;
    /** What arrived before the step. */
    private long highest;
    private long lastEvent;
    /** The most that W reached while this partition was idle, or before the batch. */
    private long ahead;
    /** The first step of the rise that has not ended. */
    private long first = NONE;
    /** What arrived at the step. */
    private long ofStep = NONE;
    private boolean hasEvent;
    /** The arrival of the last record, although the batch may not have had it at that step. */
    private long arrived = NONE;
    /** Events since the rise before whose step is not that of their arrival. */
    private long unsettled;

    ArrivalLane(int partition, ArrivalSpec spec, Queue<Rise> rises) {
        this.partition = partition;
        this.spec = spec;
        this.rises = rises;
        ArrivalSpec.Before before = spec.of(partition);
        step = spec.step();
        highest = before.highest();
        lastEvent = before.lastEvent();
        ahead = spec.watermark();
    }

    /** Takes a record, with the time that it moves the watermark to, or {@link ArrivalSpec#NONE}. */
    void arrive(long timestamp, boolean isEvent, long moving) {
        arrived = Math.max(arrived, Math.floorDiv(timestamp, spec.stepMs()));
        long arrival = Math.min(arrived, spec.last());
        if (arrival > step) {
            endStep();
            step = arrival;
            if (lastEvent == NONE || isSilent()) {
                ahead = Math.max(ahead, step * spec.stepMs() + spec.aheadMs() - spec.delayMs());
            }
        }
        hasEvent |= isEvent;
        unsettled += isEvent && arrived != step ? 1 : 0;
        if (moving != NONE) {
            ofStep = Math.max(ofStep, Math.min(moving, (step + 1) * spec.stepMs() - 1 + spec.aheadMs()));
        }
    }

    /** The step at which the last record arrived. */
    long step() {
        return step;
    }

    /**
     * Returns the most that W can be at the step: a record at or after it is neither late nor after a firing. With sessions
     * the delay is a millisecond shorter, because a record at W may join a session that ended at W.
     */
    long limit() {
        if (spec.isByClock()) {
            return Math.max(ahead, step * spec.stepMs() - spec.delayMs());
        }
        return highest == NONE ? ahead : Math.max(ahead, highest - spec.delayMs());
    }

    /** Gives the last rise, after the last record. */
    void end() {
        endStep();
        give();
    }

    private boolean isSilent() {
        return (step - lastEvent) * spec.stepMs() >= spec.idleMs();
    }

    private void endStep() {
        if (hasEvent) {
            if (first == NONE || ofStep > highest || isSilent()) {
                give();
                first = step;
            }
            highest = Math.max(highest, ofStep);
            lastEvent = step;
            ofStep = NONE;
            hasEvent = false;
        }
    }

    private void give() {
        if (first != NONE) {
            rises.add(new Rise(partition, first, lastEvent, highest, unsettled));
            first = NONE;
            unsettled = 0;
        }
    }
}
