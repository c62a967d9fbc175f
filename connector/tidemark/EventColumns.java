package tidemark;

import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.avro.Schema;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;

/** What is decoded: the columns, and the writers' schemas by their ids. */
record EventColumns(List<Column> columns, Map<String, Schema> writers, boolean hasLongIds) {
    static final String PREFIX = "event.";

    /**
     * A field of an event.
     *
     * @param reader the type as which it is read; the fields of its records have {@code positions}, too
     * @param positions by the id of a writer's schema, the field's position after those of the records around it;
     *     without the schemas that lack the field. If it is empty, the column is true where a record was read.
     */
    record Column(String name, Schema reader, Map<String, List<Integer>> positions) {
        DataType type() {
            return SparkTypes.of(reader);
        }
    }

    /** Reads what Python writes: see {@code pipeline/decoding/alignment.py}. */
    static EventColumns of(JsonNode node) {
        Map<String, Schema> writers = new LinkedHashMap<>();
        node.get("writers").properties().forEach(each -> writers.put(each.getKey(), new Schema.Parser().parse(each.getValue().asText())));
        List<Column> columns = new ArrayList<>();
        for (JsonNode column : node.get("columns")) {
            Schema reader = new Schema.Parser().parse(column.get("type").toString());
            Map<String, List<Integer>> positions = new ObjectMapper().convertValue(column.get("positions"), new TypeReference<>() { });
            columns.add(new Column(PREFIX + column.get("name").asText(), reader, positions));
        }
        return new EventColumns(columns, writers, node.get("long_ids").asBoolean());
    }

    StructType schema() {
        StructType schema = new StructType();
        for (Column column : columns) {
            schema = schema.add(column.name(), column.type());
        }
        return schema;
    }
}
