package stepped;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

import org.apache.flink.streaming.api.functions.windowing.ProcessWindowFunction;
import org.apache.flink.streaming.api.windowing.windows.TimeWindow;
import org.apache.flink.streaming.api.windowing.windows.Window;
import org.apache.flink.util.Collector;

/** What a report measures of a key in a window, each time it fires. */
final class Counts<W extends Window> extends ProcessWindowFunction<Event, Row, String, W> {
    private static final long serialVersionUID = 1;

    private final String report;
    private final ArrayList<String> measures;

    Counts(String report, ArrayList<String> measures) {
        this.report = report;
        this.measures = measures;
    }

    @Override
    public void process(String key, Context context, Iterable<Event> events, Collector<Row> fired) {
        long first = Long.MAX_VALUE;
        long last = Long.MIN_VALUE;
        long pageViews = 0;
        long clicks = 0;
        Set<String> users = new HashSet<>();
        for (Event event : events) {
            first = Math.min(first, event.eventTime());
            last = Math.max(last, event.eventTime());
            pageViews += event.act().equals("visit") ? 1 : 0;
            clicks += event.act().equals("click") ? 1 : 0;
            users.add(event.user());
        }
        List<Long> values = new ArrayList<>();
        for (String measure : measures) {
            values.add(switch (measure) {
                case "page_views" -> pageViews;
                case "clicks" -> clicks;
                case "unique_users" -> (long) users.size();
                default -> throw new IllegalArgumentException(measure);
            });
        }
        // A count window knows no time: it spans its events.
        boolean timed = context.window() instanceof TimeWindow;
        long start = timed ? ((TimeWindow) context.window()).getStart() : first;
        long end = timed ? ((TimeWindow) context.window()).getEnd() : last + 1;
        fired.collect(new Row(report, key, start, end, values));
    }
}
