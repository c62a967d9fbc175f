package tidemark;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnVector;

/** Decodes values into columns, whatever bytes they have: a value that is no event is a row of nulls. */
interface ValueDecoder {
    /** Returns the decoder of what Python writes as JSON: see {@link EventColumns} and {@link JsonFields}. */
    static ValueDecoder of(JsonNode events, int rows) {
        return isJson(events) ? new JsonDecoder(JsonFields.of(events), rows) : new EventDecoder(EventColumns.of(events), rows);
    }

    /** Returns the columns of that decoder. */
    static StructType schema(String events) {
        JsonNode node = parse(events);
        return isJson(node) ? JsonFields.of(node).schema() : EventColumns.of(node).schema();
    }

    ColumnVector[] vectors();

    /** Empties all columns. */
    void reset();

    /** Decodes the value between two places of an array. */
    void decode(byte[] array, int from, int to, int row);

    /** Makes a row without an event. */
    void putNull(int row);

    private static boolean isJson(JsonNode events) {
        return events.has("fields");
    }

    /** Parses what Python writes. */
    static JsonNode parse(String events) {
        try {
            return new ObjectMapper().readTree(events);
        } catch (JsonProcessingException error) {
            throw new IllegalArgumentException("the columns of events are not JSON", error);
        }
    }
}
