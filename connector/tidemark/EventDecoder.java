package tidemark;

import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.UUID;
import org.apache.spark.sql.vectorized.ColumnVector;

/**
 * Decodes Avro values into columns: a frame names the writer's schema, whose steps were made once. A row is null in all
 * columns if the frame names no known schema, or if the bytes are not Avro of that schema.
 */
final class EventDecoder implements ValueDecoder {
    private final Input in = new Input();
    private final Map<UUID, Step[]> plans = new HashMap<>();
    private final ColumnWriter[] columns;
    private final boolean hasLongIds;
    private long lastHigh;
    private long lastLow;
    private Step[] lastPlan;

    /** Makes the steps of all schemas of {@code events}, for a number of rows. */
    EventDecoder(EventColumns events, int rows) {
        hasLongIds = events.hasLongIds();
        columns = events.columns().stream().map(each -> ColumnWriter.column(each.type(), rows)).toArray(ColumnWriter[]::new);
        events.writers().forEach((id, writer) -> plans.put(Frame.key(id), RecordSteps.steps(id, writer, events.columns(), columns)));
    }

    @Override
    public ColumnVector[] vectors() {
        return Arrays.stream(columns).map(ColumnWriter::vector).toArray(ColumnVector[]::new);
    }

    @Override
    public void reset() {
        for (ColumnWriter column : columns) {
            column.reset();
        }
    }

    @Override
    public void decode(byte[] array, int from, int to, int row) {
        int body = Frame.end(array, from, to, hasLongIds);
        Step[] plan = body < 0 ? null : plan(Frame.high(array, from, body), Frame.low(array, from, body));
        if (plan == null) {
            putNull(row);
            return;
        }
        in.over(array, body, to);
        try {
            for (Step step : plan) {
                step.run(in, row);
            }
        } catch (Malformed error) {
            putNull(row);
        }
    }

    @Override
    public void putNull(int row) {
        for (ColumnWriter column : columns) {
            column.putNull(row);
        }
    }

    private Step[] plan(long high, long low) {
        if (lastPlan == null || low != lastLow || high != lastHigh) {
            lastPlan = plans.get(new UUID(high, low));
            lastHigh = high;
            lastLow = low;
        }
        return lastPlan;
    }
}
