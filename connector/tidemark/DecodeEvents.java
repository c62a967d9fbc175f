package tidemark;

import java.util.Arrays;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.api.java.UDF2;
import org.apache.spark.sql.catalyst.CatalystTypeConverters;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnarBatch;

/**
 * Decodes a value of any table, such as a dead letter, as {@link KafkaColumns} decodes those of a topic. Texts are
 * returned as bytes, because Java's own texts cannot have bytes that are not UTF-8.
 */
public final class DecodeEvents implements UDF2<byte[], String, Row> {
    private static final long serialVersionUID = 1;
    private static final ThreadLocal<One> LAST = new ThreadLocal<>();

    @Override
    public Row call(byte[] value, String plan) {
        One one = LAST.get();
        if (one == null || !one.plan.equals(plan)) {
            one = new One(plan);
            LAST.set(one);
        }
        return one.decode(value);
    }

    /** Columns of one row. */
    private static final class One {
        private final String plan;
        private final ValueDecoder decoder;
        private final ColumnarBatch batch;
        private final StructType schema;

        One(String plan) {
            this.plan = plan;
            decoder = ValueDecoder.of(ValueDecoder.parse(plan), 1);
            batch = new ColumnarBatch(decoder.vectors());
            schema = new StructType(Arrays.stream(ValueDecoder.schema(plan).fields()).map(One::asBytes).toArray(StructField[]::new));
        }

        private static StructField asBytes(StructField field) {
            boolean isText = field.dataType() instanceof StringType;
            return isText ? new StructField(field.name(), DataTypes.BinaryType, true, field.metadata()) : field;
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
