package drains;

import java.util.Map;

/** The topic and settings of a drain. Schemas are Avro JSON; times are milliseconds; consumer options are Kafka's. */
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
        String scratch) {
}
