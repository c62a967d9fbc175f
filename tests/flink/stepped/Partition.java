package stepped;

import java.nio.ByteBuffer;

import org.apache.flink.api.connector.source.SourceSplit;
import org.apache.flink.core.io.SimpleVersionedSerializer;

/** A Kafka partition, as Flink knows it. */
record Partition(int number) implements SourceSplit {
    @Override
    public String splitId() {
        return String.valueOf(number);
    }

    static final class Serializer implements SimpleVersionedSerializer<Partition> {
        @Override
        public int getVersion() {
            return 1;
        }

        @Override
        public byte[] serialize(Partition partition) {
            return ByteBuffer.allocate(Integer.BYTES).putInt(partition.number()).array();
        }

        @Override
        public Partition deserialize(int version, byte[] bytes) {
            return new Partition(ByteBuffer.wrap(bytes).getInt());
        }
    }
}
