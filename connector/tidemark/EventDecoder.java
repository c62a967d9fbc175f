package tidemark;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.avro.Schema;
import org.apache.spark.sql.vectorized.ColumnVector;

/**
 * Decodes Avro values into columns: a frame names the writer's schema, whose steps were made once. A row is null in all
 * columns if the frame names no known schema, or if the bytes are not Avro of that schema.
 */
final class EventDecoder implements ValueDecoder {
    private static final int FRAME = 5;
    private static final int LONG_FRAME = 9;

    private final Input in = new Input();
    private final Map<Integer, Step[]> plans = new HashMap<>();
    private final Target[] columns;
    private final boolean hasLongIds;
    private int lastId;
    private Step[] lastPlan;

    /** Makes the steps of all schemas of {@code events}, for a number of rows. */
    EventDecoder(EventColumns events, int rows) {
        hasLongIds = events.hasLongIds();
        List<EventColumns.Column> wanted = events.columns();
        columns = wanted.stream().map(each -> Target.column(each.type(), rows)).toArray(Target[]::new);
        Schema reader = events.reader();
        for (Map.Entry<Integer, Schema> writer : events.writers().entrySet()) {
            plans.put(writer.getKey(), new Flat(wanted, columns).steps(writer.getValue(), reader));
        }
    }

    @Override
    public ColumnVector[] vectors() {
        ColumnVector[] vectors = new ColumnVector[columns.length];
        for (int index = 0; index < columns.length; index++) {
            vectors[index] = columns[index].vector();
        }
        return vectors;
    }

    @Override
    public void reset() {
        for (Target column : columns) {
            column.reset();
        }
    }

    @Override
    public void decode(byte[] array, int from, int to, int row) {
        int body = body(array, from, to);
        Step[] plan = body < 0 ? null : plan(id(array, body - Integer.BYTES));
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
        for (Target column : columns) {
            column.putNull(row);
        }
    }

    /** Returns where Avro begins after a frame; a negative number if there is no frame. No registry has an id 0. */
    private int body(byte[] array, int from, int to) {
        if (to - from < FRAME || array[from] != 0) {
            return -1;
        }
        boolean isLong = hasLongIds && to - from >= LONG_FRAME && id(array, from + 1) == 0;
        return from + (isLong ? LONG_FRAME : FRAME);
    }

    private Step[] plan(int id) {
        if (lastPlan == null || id != lastId) {
            lastPlan = plans.get(id);
            lastId = id;
        }
        return lastPlan;
    }

    private static int id(byte[] array, int at) {
        return (array[at] & 255) << 24 | (array[at + 1] & 255) << 16 | (array[at + 2] & 255) << 8 | array[at + 3] & 255;
    }
}
