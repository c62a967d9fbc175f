package tidemark;

import java.util.EnumSet;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.catalog.TableProvider;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.apache.spark.sql.vectorized.ColumnarBatch;

/**
 * Spark's source of ranges of a Kafka topic, by columns, with the fields of events decoded. Options: {@code topic},
 * {@code ranges} ({@code partition:from:to}, with commas), {@code tasks} (the most that read them), {@code plan} (see
 * {@link ValueDecoder}), {@code poll.timeout.ms}, and {@code kafka.*} for the client.
 */
public final class KafkaColumns implements TableProvider {
    @Override
    public StructType inferSchema(CaseInsensitiveStringMap options) {
        return schema(options.get("plan"));
    }

    @Override
    public Table getTable(StructType schema, Transform[] partitioning, Map<String, String> options) {
        return new Topic(schema, new CaseInsensitiveStringMap(options).get("topic"));
    }

    /** Returns the columns of a record, then those of its event. */
    static StructType schema(String plan) {
        StructType schema = new StructType()
            .add("key", DataTypes.BinaryType)
            .add("value", DataTypes.BinaryType)
            .add("partition", DataTypes.IntegerType, false)
            .add("offset", DataTypes.LongType, false)
            .add("kafka_timestamp", DataTypes.LongType, false);
        for (var field : ValueDecoder.schema(plan).fields()) {
            schema = schema.add(field);
        }
        return schema;
    }

    private record Topic(StructType schema, String name) implements SupportsRead {
        @Override
        public Set<TableCapability> capabilities() {
            return EnumSet.of(TableCapability.BATCH_READ);
        }

        @Override
        public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
            return () -> new Ranges(schema, new HashMap<>(options.asCaseSensitiveMap()));
        }
    }

    private record Ranges(StructType readSchema, Map<String, String> options) implements Scan, Batch {
        @Override
        public Batch toBatch() {
            return this;
        }

        @Override
        public InputPartition[] planInputPartitions() {
            CaseInsensitiveStringMap named = new CaseInsensitiveStringMap(options);
            return Task.plan(Range.parse(named.get("ranges")), named.getInt("tasks", Integer.MAX_VALUE));
        }

        @Override
        public PartitionReaderFactory createReaderFactory() {
            return new Readers(new HashMap<>(options));
        }
    }

    private record Readers(HashMap<String, String> options) implements PartitionReaderFactory {
        @Override
        public boolean supportColumnarReads(InputPartition partition) {
            return true;
        }

        @Override
        public PartitionReader<InternalRow> createReader(InputPartition partition) {
            throw new UnsupportedOperationException("only columns are read");
        }

        @Override
        public PartitionReader<ColumnarBatch> createColumnarReader(InputPartition partition) {
            return new TaskReader((Task) partition, new CaseInsensitiveStringMap(options));
        }
    }
}
