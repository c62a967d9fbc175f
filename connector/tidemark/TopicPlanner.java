package tidemark;

import java.util.EnumSet;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.catalog.TableProvider;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * Spark's stream of what a batch has to read of a Kafka topic: a row for each partition, with the offsets {@code from}
 * (inclusive) and {@code to} (exclusive). {@link KafkaColumns} reads them. Options: {@code topic}, {@code starts}
 * (see {@link PlannedOffsets#ofJson}), {@code max.records} of a batch, and {@code kafka.*} for the client.
 *
 * <p>With {@code arrival.before}, the {@code until} of the batch before, each batch is a span of arrival
 * ({@link ArrivalCut}): every record that arrived before {@code until}, in milliseconds since 1970, is in it or in an
 * earlier batch. {@code until} is a multiple of 200 and the same in all rows, and null without the option.
 * {@code settling.ms} is how long after its Kafka timestamp a record may become visible.
 */
public final class TopicPlanner implements TableProvider {
    private static final StructType SCHEMA = new StructType()
        .add("partition", DataTypes.IntegerType, false)
        .add("from", DataTypes.LongType, false)
        .add("to", DataTypes.LongType, false)
        .add("until", DataTypes.LongType, true);

    @Override
    public StructType inferSchema(CaseInsensitiveStringMap options) {
        return SCHEMA;
    }

    @Override
    public Table getTable(StructType schema, Transform[] partitioning, Map<String, String> options) {
        return new Topic(new CaseInsensitiveStringMap(options).get("topic"));
    }

    private record Topic(String name) implements SupportsRead {
        @Override
        public StructType schema() {
            return SCHEMA;
        }

        @Override
        public Set<TableCapability> capabilities() {
            return EnumSet.of(TableCapability.MICRO_BATCH_READ);
        }

        @Override
        public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
            return () -> new Plans(new HashMap<>(options.asCaseSensitiveMap()));
        }
    }

    private record Plans(Map<String, String> options) implements Scan {
        @Override
        public StructType readSchema() {
            return SCHEMA;
        }

        @Override
        public MicroBatchStream toMicroBatchStream(String checkpoint) {
            return new PlannedStream(new CaseInsensitiveStringMap(options));
        }
    }
}
