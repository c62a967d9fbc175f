package drains;

import java.util.Map;

/**
 * The topic and settings of a drain. Schemas are Avro JSON; times are milliseconds; consumer options are Kafka's.
 * `keys` is the key of each result table, empty for a table without a key.
 * An unbounded drain continues at the end of the topic, until the process ends. A tolerant job skips malformed records,
 * and in SQL counts an event_id once; for it a partition without events for the time `idleness` is idle.
 */
public record DrainSettings(
        String job,
        String format,
        Map<String, String> keys,
        String topic,
        Map<String, String> consumer,
        String writerSchema,
        String readerSchema,
        int cores,
        long bound,
        long window,
        long checkpointInterval,
        boolean bounded,
        boolean tolerant,
        long idleness,
        String scratch) {
}
