package tidemark;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.avro.LogicalType;
import org.apache.avro.LogicalTypes;
import org.apache.avro.Schema;
import org.apache.avro.Schema.Type;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.TimestampNTZType;
import org.apache.spark.sql.types.TimestampType;

/**
 * Makes the steps that read a value of one writer's schema into a column. Python has found a type that reads the values of
 * all writers, so types are not compared. The fields of its records have their positions by the id of a writer's schema;
 * the branches of its unions have the order of the writer's, apart from null.
 */
final class ReadSteps {
    private final String id;
    private final SkipSteps skipping = new SkipSteps();

    ReadSteps(String id) {
        this.id = id;
    }

    Step of(Schema writer, Schema reader, ColumnWriter column) {
        List<Schema> readers = branches(reader);
        if (writer.getType() != Type.UNION) {
            return branch(writer, readers, 0, column);
        }
        List<Schema> others = branches(writer);
        Step[] steps = writer.getTypes().stream()
            .map(type -> branch(type, readers, others.indexOf(type), column)).toArray(Step[]::new);
        return (in, row) -> steps[SkipSteps.index(in, steps.length)].run(in, row);
    }

    /** Returns the types of a union, except null; any other type by itself. */
    static List<Schema> branches(Schema type) {
        List<Schema> types = type.getType() == Type.UNION ? type.getTypes() : List.of(type);
        return types.stream().filter(each -> each.getType() != Type.NULL).toList();
    }

    /** Reads into the branch of a union at {@code index}. Spark has a union of many types as a struct. */
    private Step branch(Schema writer, List<Schema> readers, int index, ColumnWriter column) {
        if (writer.getType() == Type.NULL) {
            return (in, row) -> column.putNull(row);
        }
        boolean isStruct = readers.size() > 1 && column.vector().dataType() instanceof StructType;
        Step value = value(writer, readers.get(index), isStruct ? column.child(index) : column);
        return isStruct ? member(value, column, readers.size(), index) : value;
    }

    private Step value(Schema writer, Schema reader, ColumnWriter column) {
        return switch (writer.getType()) {
            case BOOLEAN -> (in, row) -> column.values().putBoolean(row, in.readBoolean());
            case INT, LONG -> whole(writer, reader, column);
            case FLOAT -> single(column);
            case DOUBLE -> (in, row) -> column.values().putDouble(row, in.decimal8());
            case BYTES, STRING -> text(reader, column);
            case FIXED -> fixed(writer.getFixedSize(), reader, column);
            case ENUM -> symbol(writer, reader, column);
            case ARRAY -> items(writer, reader, column);
            case MAP -> entries(writer, reader, column);
            case RECORD -> struct(writer, reader, column);
            case NULL, UNION -> throw new IllegalStateException();
        };
    }

    private static Step member(Step value, ColumnWriter column, int members, int own) {
        return (in, row) -> {
            for (int index = 0; index < members; index++) {
                column.child(index).reserve(row + 1);
                if (index != own) {
                    column.child(index).putNull(row);
                }
            }
            value.run(in, row);
        };
    }

    /** Reads a whole number as what the column has: Spark has a union of int and long as a long. */
    private static Step whole(Schema writer, Schema reader, ColumnWriter column) {
        boolean isLong = writer.getType() == Type.LONG;
        DataType type = column.vector().dataType();
        if (type instanceof LongType || type instanceof TimestampType || type instanceof TimestampNTZType) {
            long factor = micros(reader);
            if (isLong && factor == 1) {
                return (in, row) -> column.values().putLong(row, in.number());
            }
            return (in, row) -> column.values().putLong(row, times(isLong ? in.number() : in.integer(), factor));
        }
        if (type instanceof DoubleType) {
            return (in, row) -> column.values().putDouble(row, isLong ? in.number() : in.integer());
        }
        if (type instanceof FloatType) {
            return (in, row) -> column.values().putFloat(row, isLong ? in.number() : in.integer());
        }
        return (in, row) -> column.values().putInt(row, in.integer());
    }

    /** Returns the microseconds in a unit of the reader's timestamps; Spark has timestamps in microseconds. */
    private static long micros(Schema reader) {
        LogicalType logical = reader.getLogicalType();
        boolean isMillis = logical instanceof LogicalTypes.TimestampMillis || logical instanceof LogicalTypes.LocalTimestampMillis;
        return isMillis ? 1000 : 1;
    }

    private static long times(long value, long factor) {
        try {
            return Math.multiplyExact(value, factor);
        } catch (ArithmeticException error) {
            throw Malformed.INSTANCE;
        }
    }

    private static Step single(ColumnWriter column) {
        return column.vector().dataType() instanceof FloatType
            ? (in, row) -> column.values().putFloat(row, in.decimal4())
            : (in, row) -> column.values().putDouble(row, in.decimal4());
    }

    private static Step text(Schema reader, ColumnWriter column) {
        if (reader.getLogicalType() instanceof LogicalTypes.Decimal decimal) {
            return (in, row) -> {
                int length = in.length();
                putDecimal(column, row, in.bytes, in.skip(length), length, decimal);
            };
        }
        return (in, row) -> {
            int length = in.length();
            column.putText(row, in.bytes, in.skip(length), length);
        };
    }

    private static Step fixed(int size, Schema reader, ColumnWriter column) {
        if (reader.getLogicalType() instanceof LogicalTypes.Decimal decimal) {
            return (in, row) -> putDecimal(column, row, in.bytes, in.skip(size), size, decimal);
        }
        return (in, row) -> column.putText(row, in.bytes, in.skip(size), size);
    }

    private static void putDecimal(ColumnWriter column, int row, byte[] bytes, int start, int length, LogicalTypes.Decimal type) {
        BigInteger digits = length == 0 ? BigInteger.ZERO : new BigInteger(bytes, start, length);
        BigDecimal value = new BigDecimal(digits, type.getScale());
        if (value.precision() > type.getPrecision()) {
            throw Malformed.INSTANCE;
        }
        column.values().putDecimal(row, Decimal.apply(value, type.getPrecision(), type.getScale()), type.getPrecision());
    }

    private static Step symbol(Schema writer, Schema reader, ColumnWriter column) {
        byte[][] texts = writer.getEnumSymbols().stream()
            .map(symbol -> reader.hasEnumSymbol(symbol) ? symbol : reader.getEnumDefault())
            .map(symbol -> symbol == null ? null : symbol.getBytes(StandardCharsets.UTF_8)).toArray(byte[][]::new);
        return (in, row) -> {
            byte[] text = texts[SkipSteps.index(in, texts.length)];
            if (text == null) {
                throw Malformed.INSTANCE;
            }
            column.putText(row, text, 0, text.length);
        };
    }

    private Step items(Schema writer, Schema reader, ColumnWriter column) {
        ColumnWriter items = column.child(0);
        return blocks(column, items, of(writer.getElementType(), reader.getElementType(), items));
    }

    private Step entries(Schema writer, Schema reader, ColumnWriter column) {
        ColumnWriter keys = column.child(0);
        ColumnWriter values = column.child(1);
        Step value = of(writer.getValueType(), reader.getValueType(), values);
        return blocks(column, values, (in, row) -> {
            keys.reserve(row + 1);
            int length = in.length();
            keys.putText(row, in.bytes, in.skip(length), length);
            value.run(in, row);
        });
    }

    /** Reads blocks of values into rows of {@code items}, which become an array or map of the column. */
    private static Step blocks(ColumnWriter column, ColumnWriter items, Step item) {
        return (in, row) -> {
            in.enter();
            int first = items.take(0);
            int total = 0;
            for (int count = in.block(); count > 0; count = in.block()) {
                int from = items.take(count);
                items.reserve(from + count);
                for (int index = 0; index < count; index++) {
                    item.run(in, from + index);
                }
                total += count;
            }
            column.values().putArray(row, first, total);
            in.leave();
        };
    }

    private Step struct(Schema writer, Schema reader, ColumnWriter column) {
        ColumnWriter[] targets = reader.getFields().stream().map(field -> column.child(field.pos())).toArray(ColumnWriter[]::new);
        List<Step> fields = skipped(writer);
        for (Schema.Field field : reader.getFields()) {
            ColumnWriter target = targets[field.pos()];
            Integer position = (Integer) ((Map<?, ?>) field.getObjectProp("positions")).get(id);
            if (position == null) {
                fields.add((in, row) -> target.putNull(row));
            } else {
                fields.set(position, of(writer.getFields().get(position).schema(), field.schema(), target));
            }
        }
        Step[] steps = fields.toArray(Step[]::new);
        return (in, row) -> {
            in.enter();
            for (ColumnWriter target : targets) {
                target.reserve(row + 1);
            }
            for (Step step : steps) {
                step.run(in, row);
            }
            in.leave();
        };
    }

    /** Returns steps that pass the fields of a record. */
    List<Step> skipped(Schema record) {
        return new ArrayList<>(record.getFields().stream().map(field -> skipping.of(field.schema())).toList());
    }
}
