package tidemark;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/** The fields of JSON events that are read, each as a column. */
record JsonFields(List<Field> fields) {
    /** What values are read as. */
    enum As {
        /** A text; any other value as it is written. */
        TEXT(DataTypes.StringType),
        /** A text or a whole number, as text. */
        ID(DataTypes.StringType),
        /** A number, or a text that is one, in milliseconds. */
        TIME(DataTypes.LongType),
        /** A number, or a text that is one. */
        NUMBER(DataTypes.DoubleType),
        BOOLEAN(DataTypes.BooleanType),
        /** True if the value is JSON. */
        READ(DataTypes.BooleanType);

        private final DataType type;

        As(DataType type) {
            this.type = type;
        }
    }

    /**
     * A field.
     *
     * @param path names in objects, indices in arrays, and keys in lists of keys and values; also inside of texts
     * @param power the power of ten by which a number is multiplied to become milliseconds, for times
     */
    record Field(String name, List<String> path, As as, int power) {
        DataType type() {
            return as.type;
        }
    }

    /** Reads what Python writes: {@code fields} with {@code name}, {@code path}, {@code as} and maybe {@code power}. */
    static JsonFields of(JsonNode plan) {
        List<Field> fields = new ArrayList<>();
        for (JsonNode field : plan.get("fields")) {
            List<String> path = new ArrayList<>();
            field.get("path").forEach(name -> path.add(name.asText()));
            As as = As.valueOf(field.get("as").asText().toUpperCase(Locale.ROOT));
            fields.add(new Field(field.get("name").asText(), path, as, field.path("power").asInt()));
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
