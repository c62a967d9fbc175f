package drains;

import java.io.IOException;

import org.apache.avro.generic.GenericRecord;
import org.apache.flink.api.common.serialization.AbstractDeserializationSchema;

/** Deserializes events, for the DataStream job. */
final class Events extends AbstractDeserializationSchema<Event> {
    private static final long serialVersionUID = 1;

    private final FramedAvro avro;

    Events(FramedAvro avro) {
        super(Event.class);
        this.avro = avro;
    }

    @Override
    public void open(InitializationContext context) {
        avro.open(context);
    }

    @Override
    public Event deserialize(byte[] message) throws IOException {
        GenericRecord record = avro.deserialize(message);
        if (record == null) {
            return null;
        }
        boolean click = record.get("event_type").toString().equals("click");
        return new Event((String) record.get("user_id"), (long) record.get("event_time"), click);
    }
}
