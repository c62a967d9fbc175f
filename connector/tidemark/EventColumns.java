package tidemark;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.apache.avro.Schema;
import org.apache.spark.sql.avro.SchemaConverters;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;

/**
 * What is decoded: the columns, the reader's schema, and the writers' schemas by their ids.
 *
 * @param hasLongIds whether a frame may have an id of eight bytes
 */
record EventColumns(List<Column> columns, Schema reader, Map<UUID, Schema> writers, boolean hasLongIds) {
    static final String PREFIX = "event.";

    /** A field of the reader's schema, maybe inside of records. */
    record Column(List<String> path, DataType type) {
        String name() {
            return PREFIX + String.join(".", path);
        }
    }

    /** Reads what Python writes: {@code columns} (paths), {@code reader}, {@code writers}, {@code long_ids}. */
    static EventColumns of(JsonNode node) {
        Schema reader = new Schema.Parser().parse(node.get("reader").asText());
        Map<UUID, Schema> writers = new LinkedHashMap<>();
        node.get("writers").properties().forEach(each ->
            writers.put(Frame.key(each.getKey()), new Schema.Parser().parse(each.getValue().asText())));
        List<Column> columns = new ArrayList<>();
        for (JsonNode names : node.get("columns")) {
            List<String> path = new ArrayList<>();
            names.forEach(name -> path.add(name.asText()));
            columns.add(new Column(path, SchemaConverters.toSqlType(at(reader, path)).dataType()));
        }
        return new EventColumns(columns, reader, writers, node.get("long_ids").asBoolean());
    }

    StructType schema() {
        StructType schema = new StructType();
        for (Column column : columns) {
            schema = schema.add(column.name(), column.type());
        }
        return schema;
    }

    /** Returns the schema of the field at a path. */
    private static Schema at(Schema record, List<String> path) {
        Schema schema = record;
        for (String name : path) {
            schema = withoutNull(schema).getField(name).schema();
        }
        return schema;
    }

    /** Returns the other type of a union with null; any other type unchanged. */
    static Schema withoutNull(Schema schema) {
        if (schema.getType() != Schema.Type.UNION) {
            return schema;
        }
        List<Schema> others = schema.getTypes().stream().filter(each -> each.getType() != Schema.Type.NULL).toList();
        return others.size() == 1 ? others.get(0) : schema;
    }
}
