package tidemark;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** Consumers that are kept between batches. Each belongs to one task at a time. */
final class Consumers {
    private static final long IDLE_NS = 300_000_000_000L;
    private static final Map<Key, List<Idle>> IDLE = new HashMap<>();

    /** The properties of a client, and the partitions that it may be assigned. */
    record Key(Map<String, String> properties, String topic, int number, int tasks) {
        static Key of(Task task, CaseInsensitiveStringMap options) {
            Map<String, String> properties = Consumers.properties(options);
            properties.put("enable.auto.commit", "false");
            properties.put("auto.offset.reset", "none");
            return new Key(properties, options.get("topic"), task.number(), task.tasks());
        }
    }

    /** Returns the properties of a client: the options with the prefix {@code kafka.}, without it. */
    static Map<String, String> properties(CaseInsensitiveStringMap options) {
        Map<String, String> properties = new HashMap<>();
        options.asCaseSensitiveMap().forEach((name, value) -> {
            if (name.startsWith("kafka.")) {
                properties.put(name.substring("kafka.".length()), value);
            }
        });
        return properties;
    }

    private record Idle(RangesConsumer consumer, long since) { }

    private Consumers() { }

    /** Returns a consumer that is idle, or a new one. */
    static RangesConsumer take(Key key) {
        synchronized (IDLE) {
            List<Idle> idle = IDLE.get(key);
            if (idle != null && !idle.isEmpty()) {
                return idle.remove(idle.size() - 1).consumer();
            }
        }
        return new RangesConsumer(key);
    }

    /** Keeps a consumer that read its ranges to their ends, and closes those that nobody took for five minutes. */
    static void keep(Key key, RangesConsumer consumer) {
        long now = System.nanoTime();
        List<Idle> old = new ArrayList<>();
        synchronized (IDLE) {
            IDLE.computeIfAbsent(key, each -> new ArrayList<>()).add(new Idle(consumer, now));
            for (List<Idle> idle : IDLE.values()) {
                idle.removeIf(each -> now - each.since() > IDLE_NS && old.add(each));
            }
            IDLE.values().removeIf(List::isEmpty);
        }
        old.forEach(each -> each.consumer().close());
    }
}
