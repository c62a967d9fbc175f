package tidemark;

import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.avro.LogicalType;
import org.apache.avro.LogicalTypes;
import org.apache.avro.Schema;
import org.apache.avro.Schema.Type;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/** Spark's types of Avro's, as in Spark's own reader of Avro: see "Supported types" in its guide. */
final class SparkTypes {
    private SparkTypes() { }

    static DataType of(Schema schema) {
        LogicalType logical = schema.getLogicalType();
        return switch (schema.getType()) {
            case BOOLEAN -> DataTypes.BooleanType;
            case INT -> logical instanceof LogicalTypes.Date ? DataTypes.DateType : DataTypes.IntegerType;
            case LONG -> ofLong(logical);
            case FLOAT -> DataTypes.FloatType;
            case DOUBLE -> DataTypes.DoubleType;
            case STRING, ENUM -> DataTypes.StringType;
            case BYTES, FIXED -> logical instanceof LogicalTypes.Decimal decimal
                ? DataTypes.createDecimalType(decimal.getPrecision(), decimal.getScale()) : DataTypes.BinaryType;
            case ARRAY -> DataTypes.createArrayType(of(schema.getElementType()), isNullable(schema.getElementType()));
            case MAP -> DataTypes.createMapType(DataTypes.StringType, of(schema.getValueType()), isNullable(schema.getValueType()));
            case RECORD -> {
                StructType struct = new StructType();
                for (Schema.Field field : schema.getFields()) {
                    struct = struct.add(field.name(), of(field.schema()), isNullable(field.schema()));
                }
                yield struct;
            }
            case UNION -> ofUnion(ReadSteps.branches(schema));
            case NULL -> DataTypes.NullType;
        };
    }

    private static DataType ofLong(LogicalType logical) {
        if (logical instanceof LogicalTypes.TimestampMillis || logical instanceof LogicalTypes.TimestampMicros) {
            return DataTypes.TimestampType;
        }
        return logical instanceof LogicalTypes.LocalTimestampMillis || logical instanceof LogicalTypes.LocalTimestampMicros
            ? DataTypes.TimestampNTZType : DataTypes.LongType;
    }

    /** A union of several types is the wider of two numbers, or a struct with a field for each, of which one is not null. */
    private static DataType ofUnion(List<Schema> types) {
        Set<Type> kinds = types.stream().map(Schema::getType).collect(Collectors.toSet());
        if (types.size() == 1) {
            return of(types.get(0));
        }
        if (kinds.equals(Set.of(Type.INT, Type.LONG))) {
            return DataTypes.LongType;
        }
        if (kinds.equals(Set.of(Type.FLOAT, Type.DOUBLE))) {
            return DataTypes.DoubleType;
        }
        StructType struct = new StructType();
        for (int index = 0; index < types.size(); index++) {
            struct = struct.add("member" + index, of(types.get(index)));
        }
        return types.isEmpty() ? DataTypes.NullType : struct;
    }

    private static boolean isNullable(Schema schema) {
        return schema.getType() == Type.NULL
            || schema.getType() == Type.UNION && schema.getTypes().stream().anyMatch(each -> each.getType() == Type.NULL);
    }
}
