package drains;

import org.apache.flink.api.common.functions.AggregateFunction;

/** Page views and clicks of a user in a window. */
public final class Counts {
    public long pageViews;
    public long clicks;

    /** Adds in place; the state backend copies state that a checkpoint still needs. */
    static final class Adding implements AggregateFunction<Event, Counts, Counts> {
        private static final long serialVersionUID = 1;

        @Override
        public Counts createAccumulator() {
            return new Counts();
        }

        @Override
        public Counts add(Event event, Counts counts) {
            if (event.click()) {
                counts.clicks++;
            } else {
                counts.pageViews++;
            }
            return counts;
        }

        @Override
        public Counts getResult(Counts counts) {
            return counts;
        }

        @Override
        public Counts merge(Counts one, Counts other) {
            one.pageViews += other.pageViews;
            one.clicks += other.clicks;
            return one;
        }
    }
}
