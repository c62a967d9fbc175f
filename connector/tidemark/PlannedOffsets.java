package tidemark;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.sql.connector.read.streaming.Offset;

/**
 * The next offset of each partition. A partition that it lacks is new, and is read from its first offset.
 *
 * <p>If batches end at arrivals, {@code until} is a time in milliseconds, else null: every record that arrived before it
 * is below these offsets. Spark compares offsets by their JSON, so a planner that moves only {@code until} runs a batch.
 */
public final class PlannedOffsets extends Offset {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final String UNTIL = "until";

    private final TreeMap<Integer, Long> byPartition;
    private final Long until;

    PlannedOffsets(Map<Integer, Long> byPartition, Long until) {
        this.byPartition = new TreeMap<>(byPartition);
        this.until = until;
    }

    /** Reads what {@link #json} returns: an object with the offset of each partition, and optionally {@code until}. */
    public static PlannedOffsets ofJson(String json) {
        try {
            Map<String, Long> fields = JSON.readValue(json, new TypeReference<TreeMap<String, Long>>() { });
            Long until = fields.remove(UNTIL);
            Map<Integer, Long> byPartition = new TreeMap<>();
            fields.forEach((partition, offset) -> byPartition.put(Integer.valueOf(partition), offset));
            return new PlannedOffsets(byPartition, until);
        } catch (JsonProcessingException error) {
            throw new IllegalArgumentException(error);
        }
    }

    /** Returns these offsets with another {@code until}. */
    PlannedOffsets at(Long other) {
        return new PlannedOffsets(byPartition, other);
    }

    Map<Integer, Long> byPartition() {
        return byPartition;
    }

    Long until() {
        return until;
    }

    boolean isAt(PlannedOffsets other) {
        return byPartition.equals(other.byPartition);
    }

    long of(int partition) {
        return byPartition.getOrDefault(partition, 0L);
    }

    /** Returns the number of offsets from these to {@code ends}. */
    long countTo(PlannedOffsets ends) {
        return ends.byPartition.entrySet().stream().mapToLong(each -> each.getValue() - of(each.getKey())).sum();
    }

    /**
     * Returns the offsets about {@code most} further on the way to {@code ends}, with the same {@code until}. Each partition
     * has its share in proportion to what waits, and none that has records is left out.
     */
    PlannedOffsets toward(PlannedOffsets ends, long most) {
        double total = countTo(ends);
        if (total <= most) {
            return ends.at(until);
        }
        Map<Integer, Long> limited = new TreeMap<>();
        ends.byPartition.forEach((partition, end) -> {
            long count = end - of(partition);
            double share = most * (count / total);
            limited.put(partition, of(partition) + Math.min(count, (long) (share < 1 ? Math.ceil(share) : share)));
        });
        return new PlannedOffsets(limited, until);
    }

    @Override
    public String json() {
        Map<String, Long> fields = new TreeMap<>();
        byPartition.forEach((partition, offset) -> fields.put(String.valueOf(partition), offset));
        if (until != null) {
            fields.put(UNTIL, until);
        }
        try {
            return JSON.writeValueAsString(fields);
        } catch (JsonProcessingException error) {
            throw new IllegalStateException(error);
        }
    }
}
