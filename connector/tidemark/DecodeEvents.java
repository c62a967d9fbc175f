package tidemark;

import org.apache.spark.sql.Row;
import org.apache.spark.sql.api.java.UDF2;
import org.apache.spark.sql.catalyst.CatalystTypeConverters;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnarBatch;

/** Decodes a value of any table, such as a dead letter, as {@link KafkaColumns} decodes those of a topic. */
public final class DecodeEvents implements UDF2<byte[], String, Row> {
    private static final long serialVersionUID = 1;
    private static final ThreadLocal<One> LAST = new ThreadLocal<>();

    @Override
    public Row call(byte[] value, String events) {
        One one = LAST.get();
        if (one == null || !one.events.equals(events)) {
            one = new One(events);
            LAST.set(one);
        }
        return one.decode(value);
    }

    /** Columns of one row. */
    private static final class One {
        private final String events;
        private final EventDecoder decoder;
        private final ColumnarBatch batch;
        private final StructType schema;

        One(String events) {
            this.events = events;
            EventColumns columns = EventColumns.parse(events);
            decoder = new EventDecoder(columns, 1);
            batch = new ColumnarBatch(decoder.vectors());
            schema = columns.schema();
        }

        Row decode(byte[] value) {
            decoder.reset();
            if (value == null) {
                decoder.putNull(0);
            } else {
                decoder.decode(value, 0, value.length, 0);
            }
            batch.setNumRows(1);
            return (Row) CatalystTypeConverters.convertToScala(batch.getRow(0), schema);
        }
    }
}
