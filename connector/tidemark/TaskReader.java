package tidemark;

import com.fasterxml.jackson.databind.JsonNode;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;

/** Reads ranges into batches of columns. Keys and values stay where they were fetched. */
final class TaskReader implements PartitionReader<ColumnarBatch> {
    private static final int ROWS = 8192;
    private static final long PATIENCE_MS = 30_000;

    private final ValueDecoder decoder;
    private final IdHeaders idHeaders;
    private final TextColumn keys = new TextColumn(DataTypes.BinaryType, ROWS);
    private final TextColumn values = new TextColumn(DataTypes.BinaryType, ROWS);
    private final ColumnWriter partitions = ColumnWriter.column(DataTypes.IntegerType, ROWS);
    private final ColumnWriter offsets = ColumnWriter.column(DataTypes.LongType, ROWS);
    private final ColumnWriter timestamps = ColumnWriter.column(DataTypes.LongType, ROWS);
    private final ColumnarBatch batch;
    private final Consumers.Key key;
    private final RangesConsumer consumer;
    private boolean isAtEnd;

    TaskReader(Task task, CaseInsensitiveStringMap options) {
        JsonNode plan = ValueDecoder.parse(options.get("plan"));
        decoder = ValueDecoder.of(plan, ROWS);
        idHeaders = new IdHeaders(plan);
        List<ColumnVector> columns = new ArrayList<>(List.of(keys, values, partitions.vector(), offsets.vector(), timestamps.vector()));
        columns.addAll(Arrays.asList(decoder.vectors()));
        batch = new ColumnarBatch(columns.toArray(ColumnVector[]::new));
        key = Consumers.Key.of(task, options);
        consumer = Consumers.take(key);
        try {
            consumer.begin(task.ranges(), options.getLong("poll.timeout.ms", PATIENCE_MS));
        } catch (RuntimeException error) {
            close();
            throw error;
        }
    }

    @Override
    public boolean next() {
        keys.reset();
        values.reset();
        decoder.reset();
        int row = 0;
        while (row < ROWS && !isAtEnd) {
            ConsumerRecord<ByteBuffer, ByteBuffer> record = consumer.next();
            isAtEnd = record == null;
            if (!isAtEnd) {
                put(record, row++);
            }
        }
        batch.setNumRows(row);
        return row > 0;
    }

    private void put(ConsumerRecord<ByteBuffer, ByteBuffer> record, int row) {
        put(onHeap(record.key()), keys, row);
        ByteBuffer value = onHeap(idHeaders.framed(record));
        put(value, values, row);
        partitions.values().putInt(row, record.partition());
        offsets.values().putLong(row, record.offset());
        timestamps.values().putLong(row, record.timestamp());
        if (value == null) {
            decoder.putNull(row);
        } else {
            int from = value.arrayOffset() + value.position();
            decoder.decode(value.array(), from, from + value.remaining(), row);
        }
    }

    /** Returns bytes that are in an array, as those of Kafka's client are today. */
    private static ByteBuffer onHeap(ByteBuffer bytes) {
        return bytes == null || bytes.hasArray() ? bytes : ByteBuffer.allocate(bytes.remaining()).put(bytes.duplicate()).flip();
    }

    private static void put(ByteBuffer bytes, TextColumn column, int row) {
        if (bytes == null) {
            column.putNull(row);
        } else {
            column.put(row, bytes.array(), bytes.arrayOffset() + bytes.position(), bytes.remaining());
        }
    }

    @Override
    public ColumnarBatch get() {
        return batch;
    }

    @Override
    public void close() {
        if (isAtEnd) {
            Consumers.keep(key, consumer);
        } else {
            consumer.close();  // its task failed, or needs no more
        }
        batch.close();
    }
}
