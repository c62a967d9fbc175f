package tidemark;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.sql.connector.read.streaming.Offset;

/** The next offset of each partition. A partition that it lacks is new, and is read from its first offset. */
final class PlannedOffsets extends Offset {
    private static final ObjectMapper JSON = new ObjectMapper();

    private final TreeMap<Integer, Long> byPartition;

    PlannedOffsets(Map<Integer, Long> byPartition) {
        this.byPartition = new TreeMap<>(byPartition);
    }

    /** Reads what {@link #json} returns: an object with the offset of each partition. */
    static PlannedOffsets ofJson(String json) {
        try {
            return new PlannedOffsets(JSON.readValue(json, new TypeReference<TreeMap<Integer, Long>>() { }));
        } catch (JsonProcessingException error) {
            throw new IllegalArgumentException(error);
        }
    }

    Map<Integer, Long> byPartition() {
        return byPartition;
    }

    long of(int partition) {
        return byPartition.getOrDefault(partition, 0L);
    }

    @Override
    public String json() {
        try {
            return JSON.writeValueAsString(byPartition);
        } catch (JsonProcessingException error) {
            throw new IllegalStateException(error);
        }
    }
}
