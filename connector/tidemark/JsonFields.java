package tidemark;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/** The fields of JSON events that are read, each as a column. */
record JsonFields(List<Field> fields) {
    static final String READ = "read";

    /**
     * A field.
     *
     * @param path names in objects, and indices in arrays
     * @param as what its values are read as: see {@link JsonColumn}
     * @param power the power of ten by which a number is multiplied to become milliseconds, for times
     */
    record Field(String name, List<String> path, String as, int power) {
        DataType type() {
            return switch (as) {
                case "text", "id" -> DataTypes.StringType;
                case "time" -> DataTypes.LongType;
                case "number" -> DataTypes.DoubleType;
                case "boolean", READ -> DataTypes.BooleanType;
                default -> throw new IllegalArgumentException(as);
            };
        }
    }

    /** Reads what Python writes: {@code fields} with {@code name}, {@code path}, {@code as} and maybe {@code power}. */
    static JsonFields of(JsonNode events) {
        List<Field> fields = new ArrayList<>();
        for (JsonNode field : events.get("fields")) {
            List<String> path = new ArrayList<>();
            field.get("path").forEach(name -> path.add(name.asText()));
            fields.add(new Field(field.get("name").asText(), path, field.get("as").asText(), field.path("power").asInt()));
        }
        return new JsonFields(fields);
    }

    StructType schema() {
        StructType schema = new StructType();
        for (Field field : fields) {
            schema = schema.add(EventColumns.PREFIX + field.name(), field.type());
        }
        return schema;
    }
}
