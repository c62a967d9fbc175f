package tidemark;

/**
 * Plans batches as spans of arrival ({@link ArrivalCut}) by the clock. A record becomes visible some time after its Kafka
 * timestamp, because its producer batches; the settling time covers that, so a batch ends before the clock by as much.
 */
final class ArrivalPlan {
    /**
     * A record that waits for the settling time, a step and this long has a timestamp ahead of the clock, and is read.
     * A clock that is wrong by less delays records only.
     */
    private static final long AHEAD_MS = 1_000;

    /** How far batches can go: to a time, in a log as it was seen; what is below {@code earlier} is read at any timestamp. */
    private record Goal(long until, LogEnds log, PlannedOffsets earlier) { }

    private final TopicEnds topic;
    private final long settlingMs;
    private final EarlierEnds earlier;
    /** The goal of a query that reads to the end; null in a query without end. */
    private Goal goal;

    ArrivalPlan(TopicEnds topic, long settlingMs) {
        this.topic = topic;
        this.settlingMs = settlingMs;
        earlier = new EarlierEnds(1_000_000 * (settlingMs + ArrivalCut.STEP_MS + AHEAD_MS), 1_000_000 * ArrivalCut.STEP_MS);
    }

    /** Sets the goal to all that is on the log now, as soon as its last step has settled. */
    void toTheEnd(PlannedOffsets before) {
        LogEnds log = topic.of(before);
        // The clock is read after the log: whatever is on the log arrived before it.
        long now = System.currentTimeMillis();
        long until = stepOf(now) + ArrivalCut.STEP_MS;
        if (log.stable().isAt(before)) {
            goal = new Goal(until, log, log.stable());
        } else {
            sleep(until + settlingMs - now);
            goal = new Goal(until, topic.of(before), log.stable());
        }
    }

    /** Returns the end of the batch after {@code before}, or {@code before} itself if there is nothing to read. */
    PlannedOffsets after(PlannedOffsets before, long most) {
        Goal to = goal == null ? now(before) : goal;
        if (to.log().stable().isAt(before)) {
            return before;
        }
        ArrivalCut.Log log = time -> topic.at(time, to.log().stable().byPartition().keySet());
        PlannedOffsets end = new ArrivalCut(before, to.log(), to.earlier(), most, log).to(to.until());
        // A time alone is no reason for a batch.
        return end.isAt(before) ? before : end;
    }

    private Goal now(PlannedOffsets before) {
        // The clocks are read before the log, so that all that they cover can be on it.
        long until = stepOf(System.currentTimeMillis() - settlingMs);
        PlannedOffsets aged = earlier.aged(System.nanoTime());
        LogEnds log = topic.of(before);
        earlier.add(System.nanoTime(), log.stable());
        return new Goal(until, log, aged);
    }

    private static long stepOf(long time) {
        return Math.floorDiv(time, ArrivalCut.STEP_MS) * ArrivalCut.STEP_MS;
    }

    private static void sleep(long milliseconds) {
        try {
            Thread.sleep(milliseconds);
        } catch (InterruptedException error) {
            throw TopicEnds.interrupted();
        }
    }
}
