package drains;

import java.util.Properties;
import java.util.concurrent.atomic.LongAdder;

import org.apache.flink.metrics.Counter;
import org.apache.flink.metrics.Metric;
import org.apache.flink.metrics.MetricConfig;
import org.apache.flink.metrics.MetricGroup;
import org.apache.flink.metrics.reporter.MetricReporter;
import org.apache.flink.metrics.reporter.MetricReporterFactory;

/** Sums the rows that were late for their windows, when tasks end. */
public final class Metrics implements MetricReporter, MetricReporterFactory {
    private static final LongAdder LATE = new LongAdder();

    /** Returns the late rows since the last call. */
    static long late() {
        return LATE.sumThenReset();
    }

    @Override
    public MetricReporter createMetricReporter(Properties properties) {
        return this;
    }

    @Override
    public void open(MetricConfig config) {
    }

    @Override
    public void close() {
    }

    @Override
    public void notifyOfAddedMetric(Metric metric, String name, MetricGroup group) {
    }

    @Override
    public void notifyOfRemovedMetric(Metric metric, String name, MetricGroup group) {
        if (name.equals("numLateRecordsDropped")) {
            LATE.add(((Counter) metric).getCount());
        }
    }
}
