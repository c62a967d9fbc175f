package drains;

import java.util.Map;

/**
 * The topic and settings of a drain. Schemas are Avro JSON; times are milliseconds; consumer options are Kafka's.
 * An endless job reads on at the end of the topic, skips malformed records, and, in SQL, counts an event_id once;
 * a partition without events for the time `idleness` is idle.
 */
public record DrainSettings(
        String job,
        String topic,
        Map<String, String> consumer,
        String writerSchema,
        String readerSchema,
        int cores,
        long bound,
        long window,
        long checkpointInterval,
        String scratch,
        boolean endless,
        long idleness) {
}
