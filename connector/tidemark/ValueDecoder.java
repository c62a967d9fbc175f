package tidemark;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnVector;

/** Decodes values into columns, whatever bytes they have: a value that is no event is a row of nulls. */
interface ValueDecoder {
    /** Returns the decoder of what Python writes as JSON: see {@link EventColumns} and {@link JsonFields}. */
    static ValueDecoder of(JsonNode plan, int rows) {
        return isJson(plan) ? new JsonDecoder(JsonFields.of(plan), rows) : new EventDecoder(EventColumns.of(plan), rows);
    }

    /** Returns the columns of that decoder. */
    static StructType schema(String plan) {
        JsonNode node = parse(plan);
        return isJson(node) ? JsonFields.of(node).schema() : EventColumns.of(node).schema();
    }

    ColumnVector[] vectors();

    /** Empties all columns. */
    void reset();

    /** Decodes the value between two places of an array. */
    void decode(byte[] array, int from, int to, int row);

    /** Makes a row without an event. */
    void putNull(int row);

    private static boolean isJson(JsonNode plan) {
        return plan.has("fields");
    }

    /** Parses what Python writes. */
    static JsonNode parse(String plan) {
        try {
            return new ObjectMapper().readTree(plan);
        } catch (JsonProcessingException error) {
            throw new IllegalArgumentException("the decoding plan is not JSON", error);
        }
    }
}
