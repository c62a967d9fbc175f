package drains;

import java.io.IOException;

import org.apache.avro.Schema;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.generic.GenericRecord;
import org.apache.avro.io.BinaryDecoder;
import org.apache.avro.io.DecoderFactory;
import org.apache.flink.api.common.serialization.DeserializationSchema;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.formats.avro.typeutils.GenericRecordAvroTypeInfo;

/**
 * Cuts off the frame and reads the fields of the reader's schema. Reuses the record for the next message. A message
 * that cannot be read fails the job, or is null, which Flink skips.
 */
final class FramedAvro implements DeserializationSchema<GenericRecord> {
    private static final long serialVersionUID = 1;
    private static final int FRAME_BYTES = 5;

    private final String writerSchema;
    private final String readerSchema;
    private final boolean ignoreParseErrors;
    private transient GenericDatumReader<GenericRecord> reader;
    private transient BinaryDecoder decoder;
    private transient GenericRecord record;

    FramedAvro(String writerSchema, String readerSchema, boolean ignoreParseErrors) {
        this.writerSchema = writerSchema;
        this.readerSchema = readerSchema;
        this.ignoreParseErrors = ignoreParseErrors;
    }

    @Override
    public void open(InitializationContext context) {
        reader = new GenericDatumReader<>(new Schema.Parser().parse(writerSchema), wanted());
    }

    @Override
    public GenericRecord deserialize(byte[] message) throws IOException {
        try {
            return read(message);
        } catch (IOException | RuntimeException error) {
            if (ignoreParseErrors) {
                return null;
            }
            throw error;
        }
    }

    private GenericRecord read(byte[] message) throws IOException {
        if (message == null || message.length < FRAME_BYTES || message[0] != 0) {
            throw new IOException("a message without the frame of a schema registry");
        }
        decoder = DecoderFactory.get().binaryDecoder(message, FRAME_BYTES, message.length - FRAME_BYTES, decoder);
        record = reader.read(record, decoder);
        return record;
    }

    @Override
    public boolean isEndOfStream(GenericRecord next) {
        return false;
    }

    @Override
    public TypeInformation<GenericRecord> getProducedType() {
        return new GenericRecordAvroTypeInfo(wanted());
    }

    /** Returns the reader's schema with Java strings, so that Avro's own texts need no conversion later. */
    private Schema wanted() {
        Schema schema = new Schema.Parser().parse(readerSchema);
        for (Schema.Field field : schema.getFields()) {
            if (field.schema().getType() == Schema.Type.STRING) {
                GenericData.setStringType(field.schema(), GenericData.StringType.String);
            }
        }
        return schema;
    }
}
