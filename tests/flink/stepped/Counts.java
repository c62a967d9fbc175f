package stepped;

import org.apache.flink.streaming.api.functions.windowing.ProcessWindowFunction;
import org.apache.flink.streaming.api.windowing.windows.TimeWindow;
import org.apache.flink.util.Collector;

/** Page views and clicks of a key in a window, each time it fires. */
final class Counts extends ProcessWindowFunction<Event, Row, String, TimeWindow> {
    private static final long serialVersionUID = 1;

    private final String report;

    Counts(String report) {
        this.report = report;
    }

    @Override
    public void process(String key, Context context, Iterable<Event> events, Collector<Row> fired) {
        long pageViews = 0;
        long clicks = 0;
        for (Event event : events) {
            pageViews += event.act().equals("visit") ? 1 : 0;
            clicks += event.act().equals("click") ? 1 : 0;
        }
        TimeWindow window = context.window();
        fired.collect(new Row(report, key, window.getStart(), window.getEnd(), pageViews, clicks));
    }
}
