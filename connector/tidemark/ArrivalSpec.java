package tidemark;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.Serializable;
import java.util.HashMap;
import java.util.Map;

/**
 * How a task finds the records that may be late when they arrive: see {@code pipeline/event_time/arrival.py}.
 *
 * @param stepMs the length of a step, in milliseconds like all times
 * @param idleMs the silence after which a partition is idle
 * @param delayMs how far the watermark trails what moves it
 * @param isByClock whether the clock alone moves the watermark
 * @param aheadMs how far after its arrival an event may move the watermark
 * @param lastTimed the last check of records with a trusted time
 * @param eventChecks the checks of records that end a silence, as bits
 * @param step the step before which earlier batches have all records
 * @param last the last step of the batch: a record that arrived later, by a clock that is ahead, counts as if at it
 * @param watermark the watermark at that step
 * @param partitions what is known of partitions that have had records
 */
record ArrivalSpec(
    long stepMs, long idleMs, long delayMs, boolean isByClock, long aheadMs, int lastTimed, long eventChecks, long step, long last,
    long watermark,
    Map<Integer, Before> partitions) implements Serializable {

    /** No time, no step: below all others, even after a duration is added. */
    static final long NONE = -(1L << 62);
    private static final Before NOTHING = new Before(NONE, NONE);

    /**
     * What arrived in a partition before the step of the batch.
     *
     * @param highest the highest trusted time
     * @param lastEvent the step of the last event, or of the first event of the topic
     */
    record Before(long highest, long lastEvent) implements Serializable { }

    static ArrivalSpec of(JsonNode node) {
        if (node.isMissingNode()) {
            return null;
        }
        Map<Integer, Before> partitions = new HashMap<>();
        for (JsonNode each : node.get("partitions")) {
            partitions.put(
                each.get("partition").asInt(), new Before(each.get("highest").asLong(), each.get("last_event").asLong(NONE)));
        }
        return new ArrivalSpec(
            node.get("step_ms").asLong(), node.get("idle_ms").asLong(), node.get("delay_ms").asLong(), node.get("by_clock").asBoolean(),
            node.get("ahead_ms").asLong(), node.get("last_timed").asInt(), node.get("event_checks").asLong(), node.get("step").asLong(),
            node.get("last").asLong(), node.get("watermark").asLong(), partitions);
    }

    Before of(int partition) {
        return partitions.getOrDefault(partition, NOTHING);
    }

    boolean isEvent(long check) {
        return (eventChecks >> check & 1) != 0;
    }
}
