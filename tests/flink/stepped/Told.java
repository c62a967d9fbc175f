package stepped;

import java.io.Serializable;
import java.util.List;

/** A transcript as Flink is told it. Durations and times are milliseconds; the clock is where it stands at first. */
public record Told(
        String name, int partitions, int readers, long clock, Time time, List<Report> reports, List<Step> steps) {

    /** `of` is event, ingestion or processing; `strategy` is bounded, older, punctuated or time_lag. */
    public record Time(String of, String strategy, Condition marker, long bound, long lag, long idleTimeout)
            implements Serializable {
    }

    /** Keys are fields of an event; measures are page_views, clicks and unique_users. */
    public record Report(
            String name,
            List<String> keys,
            Condition where,
            Window window,
            long allowedLateness,
            List<String> measures) {
    }

    /** A field is a value, or is not; without a field it always holds. */
    public record Condition(String field, boolean equal, String value) implements Serializable {
        boolean holds(Event event) {
            return field.isEmpty() || event.value(field).equals(value) == equal;
        }
    }

    /** `kind` is tumbling, sliding, growing, session or count; `size` may be a gap or a count, `slide` a step or a count. */
    public record Window(String kind, long size, long slide, long offset) {
    }

    /** `waitMs` moves the clock before the step. */
    public record Step(long waitMs, List<Event> send) {
    }
}
