package tidemark;

import com.fasterxml.jackson.core.JsonToken;
import java.math.BigDecimal;
import java.math.RoundingMode;
import java.nio.charset.StandardCharsets;

/** A column of a field of JSON events. A value that does not fit, and a missing one, is null. */
final class JsonColumn {
    private static final int MOST_CHARACTERS = 100;
    private static final int MOST_DIGITS = 19;
    private static final int SURE_DIGITS = 18;
    private static final long[] POWERS = {1, 10, 100, 1_000, 10_000, 100_000, 1_000_000};

    private final JsonFields.Field field;
    private final ColumnWriter target;
    private boolean isSet;

    JsonColumn(JsonFields.Field field, int rows) {
        this.field = field;
        target = ColumnWriter.column(field.type(), rows);
    }

    ColumnWriter target() {
        return target;
    }

    JsonFields.Field field() {
        return field;
    }

    /** Forgets the value of the row. */
    void clear() {
        isSet = false;
    }

    /** Completes the row of an event. */
    void finish(int row) {
        if (field.as() == JsonFields.As.READ) {
            target.values().putBoolean(row, true);
        } else if (!isSet) {
            target.putNull(row);
        }
    }

    /** Takes a value: the characters of a text or number, the whole of an array or object. */
    void put(JsonToken token, byte[] bytes, int start, int length, int row) {
        isSet = switch (field.as()) {
            case TEXT -> putText(bytes, start, length, row);
            case ID -> (token == JsonToken.VALUE_STRING || token == JsonToken.VALUE_NUMBER_INT) && putText(bytes, start, length, row);
            case BOOLEAN -> putTruth(token, row);
            case TIME, NUMBER -> mayBeNumber(token, bytes, start, length) && putNumber(bytes, start, length, row);
            case READ -> false;
        };
    }

    private boolean putText(byte[] bytes, int start, int length, int row) {
        target.putText(row, bytes, start, length);
        return true;
    }

    private boolean putTruth(JsonToken token, int row) {
        target.values().putBoolean(row, token == JsonToken.VALUE_TRUE);
        return token.isBoolean();
    }

    /** Returns whether these are the characters of a number, also in a text. */
    private static boolean mayBeNumber(JsonToken token, byte[] bytes, int start, int length) {
        if (!token.isNumeric() && token != JsonToken.VALUE_STRING || length > MOST_CHARACTERS) {
            return false;
        }
        for (int at = start; at < start + length; at++) {
            if ("0123456789+-.eE".indexOf(bytes[at]) < 0) {
                return false;
            }
        }
        return true;
    }

    private boolean putNumber(byte[] bytes, int start, int length, int row) {
        try {
            if (field.as() == JsonFields.As.TIME) {
                target.values().putLong(row, millis(bytes, start, length));
                return true;
            }
            double number = Double.parseDouble(characters(bytes, start, length));
            target.values().putDouble(row, number);
            return Double.isFinite(number);
        } catch (ArithmeticException | NumberFormatException error) {
            return false;
        }
    }

    /** Returns a time in milliseconds, without the fraction. */
    private long millis(byte[] bytes, int start, int length) {
        long value = 0;
        boolean isWhole = 0 < length && length <= SURE_DIGITS;
        for (int at = start; isWhole && at < start + length; at++) {
            isWhole = '0' <= bytes[at] && bytes[at] <= '9';
            value = value * 10 + bytes[at] - '0';
        }
        if (!isWhole) {
            return millis(new BigDecimal(characters(bytes, start, length)).scaleByPowerOfTen(field.power()));
        }
        int power = field.power();
        return power < 0 ? value / POWERS[-power] : Math.multiplyExact(value, POWERS[power]);
    }

    private static long millis(BigDecimal number) {
        long digits = (long) number.precision() - number.scale();
        if (digits > MOST_DIGITS) {
            throw new ArithmeticException();
        }
        return digits <= 0 ? 0 : number.setScale(0, RoundingMode.DOWN).longValueExact();
    }

    private static String characters(byte[] bytes, int start, int length) {
        return new String(bytes, start, length, StandardCharsets.ISO_8859_1);
    }
}
