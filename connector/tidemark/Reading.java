package tidemark;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import org.apache.avro.LogicalType;
import org.apache.avro.LogicalTypes;
import org.apache.avro.Schema;
import org.apache.avro.Schema.Type;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.TimestampNTZType;
import org.apache.spark.sql.types.TimestampType;

/**
 * Makes the steps that read a value of a writer's schema as a reader's schema into a column, by Avro's rules of schema
 * resolution. Names are equal in both, because the schemas were rewritten so.
 */
final class Reading {
    private static final Step FAILS = (in, row) -> {
        throw Malformed.INSTANCE;
    };

    private final Skipping skipping = new Skipping();

    Step of(Schema writer, Schema reader, Target column) {
        if (writer.getType() == Type.UNION) {
            Step[] steps = writer.getTypes().stream().map(type -> of(type, reader, column)).toArray(Step[]::new);
            return (in, row) -> steps[Skipping.index(in, steps.length)].run(in, row);
        }
        if (reader.getType() == Type.UNION) {
            return branch(writer, reader.getTypes(), column);
        }
        return switch (writer.getType()) {
            case NULL -> FAILS;  // a reader's type without null
            case BOOLEAN -> reader.getType() == Type.BOOLEAN ? truth(column) : FAILS;
            case INT, LONG -> whole(writer, reader, column);
            case FLOAT -> single(column);
            case DOUBLE -> reader.getType() == Type.DOUBLE ? numberOfDouble(column) : FAILS;
            case BYTES, STRING -> text(reader, column);
            case FIXED -> reader.getType() == Type.FIXED ? fixed(writer, reader, column) : FAILS;
            case ENUM -> reader.getType() == Type.ENUM ? symbol(writer, reader, column) : FAILS;
            case ARRAY -> reader.getType() == Type.ARRAY ? items(writer, reader, column) : FAILS;
            case MAP -> reader.getType() == Type.MAP ? entries(writer, reader, column) : FAILS;
            case RECORD -> reader.getType() == Type.RECORD ? struct(writer, reader, column) : FAILS;
            case UNION -> throw new IllegalStateException();
        };
    }

    /** Reads into the branch of a union that has the writer's type. Spark has a union of many types as a struct. */
    private Step branch(Schema writer, List<Schema> branches, Target column) {
        if (writer.getType() == Type.NULL) {
            return branches.stream().anyMatch(each -> each.getType() == Type.NULL) ? (in, row) -> column.putNull(row) : FAILS;
        }
        List<Schema> others = branches.stream().filter(each -> each.getType() != Type.NULL).toList();
        if (!(others.size() > 1 && column.vector().dataType() instanceof StructType)) {
            return others.stream().filter(each -> fits(writer, each)).findFirst().map(each -> of(writer, each, column)).orElse(FAILS);
        }
        for (int index = 0; index < others.size(); index++) {
            if (fits(writer, others.get(index))) {
                return member(of(writer, others.get(index), column.child(index)), column, others.size(), index);
            }
        }
        return FAILS;
    }

    private static Step member(Step value, Target column, int members, int own) {
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

    private static boolean fits(Schema writer, Schema reader) {
        if (writer.getType() == reader.getType()) {
            boolean isNamed = writer.getType() == Type.RECORD || writer.getType() == Type.ENUM || writer.getType() == Type.FIXED;
            return !isNamed || Objects.equals(writer.getFullName(), reader.getFullName());
        }
        return switch (writer.getType()) {
            case INT -> reader.getType() == Type.LONG || reader.getType() == Type.FLOAT || reader.getType() == Type.DOUBLE;
            case LONG -> reader.getType() == Type.FLOAT || reader.getType() == Type.DOUBLE;
            case FLOAT -> reader.getType() == Type.DOUBLE;
            case STRING -> reader.getType() == Type.BYTES;
            case BYTES -> reader.getType() == Type.STRING;
            default -> false;
        };
    }

    private static Step truth(Target column) {
        return (in, row) -> column.values().putBoolean(row, in.truth());
    }

    /** Reads a whole number as what the column has: Spark has a union of int and long as a long. */
    private static Step whole(Schema writer, Schema reader, Target column) {
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
        boolean isInt = !isLong && (type instanceof IntegerType || type instanceof DateType);
        return isInt ? (in, row) -> column.values().putInt(row, in.integer()) : FAILS;
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

    private static Step single(Target column) {
        DataType type = column.vector().dataType();
        if (type instanceof FloatType) {
            return (in, row) -> column.values().putFloat(row, in.decimal4());
        }
        return type instanceof DoubleType ? (in, row) -> column.values().putDouble(row, in.decimal4()) : FAILS;
    }

    private static Step numberOfDouble(Target column) {
        return (in, row) -> column.values().putDouble(row, in.decimal8());
    }

    private static Step text(Schema reader, Target column) {
        if (reader.getLogicalType() instanceof LogicalTypes.Decimal decimal) {
            return (in, row) -> {
                int length = in.length();
                putDecimal(column, row, in.bytes, in.skip(length), length, decimal);
            };
        }
        if (reader.getType() != Type.STRING && reader.getType() != Type.BYTES) {
            return FAILS;
        }
        return (in, row) -> {
            int length = in.length();
            column.putText(row, in.bytes, in.skip(length), length);
        };
    }

    private static Step fixed(Schema writer, Schema reader, Target column) {
        int size = writer.getFixedSize();
        if (size != reader.getFixedSize()) {
            return FAILS;
        }
        if (reader.getLogicalType() instanceof LogicalTypes.Decimal decimal) {
            return (in, row) -> putDecimal(column, row, in.bytes, in.skip(size), size, decimal);
        }
        return (in, row) -> column.putText(row, in.bytes, in.skip(size), size);
    }

    private static void putDecimal(Target column, int row, byte[] bytes, int start, int length, LogicalTypes.Decimal type) {
        BigInteger digits = length == 0 ? BigInteger.ZERO : new BigInteger(bytes, start, length);
        BigDecimal value = new BigDecimal(digits, type.getScale());
        if (value.precision() > type.getPrecision()) {
            throw Malformed.INSTANCE;
        }
        column.values().putDecimal(row, Decimal.apply(value, type.getPrecision(), type.getScale()), type.getPrecision());
    }

    private static Step symbol(Schema writer, Schema reader, Target column) {
        byte[][] texts = writer.getEnumSymbols().stream()
            .map(symbol -> reader.hasEnumSymbol(symbol) ? symbol : reader.getEnumDefault())
            .map(symbol -> symbol == null ? null : symbol.getBytes(StandardCharsets.UTF_8)).toArray(byte[][]::new);
        return (in, row) -> {
            byte[] text = texts[Skipping.index(in, texts.length)];
            if (text == null) {
                throw Malformed.INSTANCE;
            }
            column.putText(row, text, 0, text.length);
        };
    }

    private Step items(Schema writer, Schema reader, Target column) {
        Target items = column.child(0);
        Step item = of(writer.getElementType(), reader.getElementType(), items);
        return (in, row) -> {
            in.enter();
            int[] range = range(in, items, item);
            column.values().putArray(row, range[0], range[1]);
            in.leave();
        };
    }

    private Step entries(Schema writer, Schema reader, Target column) {
        Target keys = column.child(0);
        Target values = column.child(1);
        Step value = of(writer.getValueType(), reader.getValueType(), values);
        Step entry = (in, row) -> {
            keys.reserve(row + 1);
            int length = in.length();
            keys.putText(row, in.bytes, in.skip(length), length);
            value.run(in, row);
        };
        return (in, row) -> {
            in.enter();
            int[] range = range(in, values, entry);
            column.values().putArray(row, range[0], range[1]);
            in.leave();
        };
    }

    /** Reads blocks of values into rows of {@code items}; returns the first row and their number. */
    private static int[] range(Input in, Target items, Step item) {
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
        return new int[] {first, total};
    }

    private Step struct(Schema writer, Schema reader, Target column) {
        Target[] targets = new Target[reader.getFields().size()];
        Arrays.setAll(targets, column::child);
        Step[] steps = fields(writer, reader, targets);
        return (in, row) -> {
            in.enter();
            for (Target target : targets) {
                target.reserve(row + 1);
            }
            for (Step step : steps) {
                step.run(in, row);
            }
            in.leave();
        };
    }

    private Step[] fields(Schema writer, Schema reader, Target[] targets) {
        List<Step> steps = new ArrayList<>();
        for (Schema.Field field : writer.getFields()) {
            Schema.Field read = reader.getField(field.name());
            steps.add(read == null ? skipping.of(field.schema()) : of(field.schema(), read.schema(), targets[read.pos()]));
        }
        for (Schema.Field field : reader.getFields()) {
            if (writer.getField(field.name()) == null) {
                steps.add(byDefault(field, targets[field.pos()]));
            }
        }
        return steps.toArray(Step[]::new);
    }

    /** Returns the step of a field that the writer lacks. */
    static Step byDefault(Schema.Field field, Target column) {
        if (field.hasDefaultValue() && field.defaultVal() instanceof Boolean value) {
            return (in, row) -> column.values().putBoolean(row, value);
        }
        return field.hasDefaultValue() ? (in, row) -> column.putNull(row) : FAILS;
    }
}
