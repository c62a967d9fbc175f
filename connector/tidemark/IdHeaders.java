package tidemark;

import com.fasterxml.jackson.databind.JsonNode;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.header.Header;

/**
 * Puts the id of a schema that a header names before the value, as a frame. Confluent's header has the bytes of a frame,
 * that of Apicurio an id of eight bytes.
 */
final class IdHeaders {
    private static final byte[] UNKNOWN = ByteBuffer.allocate(Frame.GUID_BYTES).put((byte) 1).array();

    private final List<String> names = new ArrayList<>();

    /** Takes the names of headers, in order of precedence, that Python writes; without any no header is read. */
    IdHeaders(JsonNode plan) {
        plan.path("id_headers").forEach(name -> names.add(name.asText()));
    }

    /** Returns the value of a record, in its frame; null if the record has none. */
    ByteBuffer framed(ConsumerRecord<ByteBuffer, ByteBuffer> record) {
        ByteBuffer value = record.value();
        for (int index = 0; index < names.size(); index++) {
            Header header = record.headers().lastHeader(names.get(index));
            if (header != null && header.value() != null && value != null) {
                byte[] frame = frame(header.value());
                return ByteBuffer.allocate(frame.length + value.remaining()).put(frame).put(value.duplicate()).flip();
            }
        }
        return value;
    }

    /** Returns the frame of a header's bytes; that of a GUID of zeros, which no schema has, if they are no id. */
    private static byte[] frame(byte[] id) {
        if (id.length == Long.BYTES && ByteBuffer.wrap(id).getLong() >>> Integer.SIZE == 0) {
            return ByteBuffer.allocate(1 + Integer.BYTES).put((byte) 0).put(id, Integer.BYTES, Integer.BYTES).array();
        }
        return Frame.end(id, 0, id.length, false) == id.length ? id : UNKNOWN;
    }
}
