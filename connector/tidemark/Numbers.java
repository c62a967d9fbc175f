package tidemark;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.regex.Pattern;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.AbstractDataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Exact numbers of fields, as whole numbers: values times a power of ten. A number with more digits, or above a bound, is
 * null. Spark's own functions would make a decimal of a text of each number, which was as much as a whole fold.
 */
public final class Numbers {
    private static final long[] POWERS = new long[19];
    /** Decimals up to so many units are told from one another by a double, or a float. */
    private static final long MOST_OF_DOUBLE = 1_000_000_000_000_000L;
    private static final long MOST_OF_FLOAT = 1_000_000L;
    private static final int MOST_DIGITS = 18;
    private static final int LONGEST = 64;
    private static final int BITS_OF_BUCKETS = 6;
    private static final Pattern NUMBER = Pattern.compile("[-+.0-9eE]+");

    static {
        POWERS[0] = 1;
        for (int digits = 1; digits < POWERS.length; digits++) {
            POWERS[digits] = 10 * POWERS[digits - 1];
        }
    }

    private Numbers() { }

    /** Returns a column of the numbers times 10 to the power of {@code digits}, which is at most 9. */
    public static Column scaled(Column value, int digits, long bound) {
        AbstractDataType[] anyTypes = {};
        return StaticCall.column(
            Numbers.class, "of", DataTypes.LongType, true, anyTypes, value, functions.lit(digits), functions.lit(bound));
    }

    /** Returns a column of the buckets of whole numbers below 2 to the power of 60. */
    public static Column bucketed(Column value) {
        AbstractDataType[] types = {DataTypes.LongType};
        return StaticCall.column(Numbers.class, "bucket", DataTypes.IntegerType, false, types, value);
    }

    /** Does what {@code bucket_of} in {@code pipeline/ddsketch.py} does. */
    public static int bucket(long value) {
        long size = Math.abs(value);
        int shift = Math.max(Long.SIZE - Long.numberOfLeadingZeros(size) - BITS_OF_BUCKETS - 1, 0);
        int bucket = (shift << BITS_OF_BUCKETS) + (int) (size >> shift);
        return value < 0 ? -bucket : bucket;
    }

    // One of these is called by the code that Spark generates, by the type of the value.

    public static Long of(byte value, int digits, long bound) {
        return of((long) value, digits, bound);
    }

    public static Long of(short value, int digits, long bound) {
        return of((long) value, digits, bound);
    }

    public static Long of(int value, int digits, long bound) {
        return of((long) value, digits, bound);
    }

    public static Long of(long value, int digits, long bound) {
        long most = bound / POWERS[digits];
        return value > most || value < -most ? null : (Long) (value * POWERS[digits]);
    }

    public static Long of(float value, int digits, long bound) {
        double power = POWERS[digits];
        long whole = Math.round(value * power);
        if (Math.abs(whole) <= MOST_OF_FLOAT) {
            return (float) (whole / power) == value ? within(whole, bound) : null;
        }
        return Float.isFinite(value) ? of(new BigDecimal(Float.toString(value)), digits, bound) : null;
    }

    public static Long of(double value, int digits, long bound) {
        double power = POWERS[digits];
        long whole = Math.round(value * power);
        if (Math.abs(whole) <= MOST_OF_DOUBLE) {
            return whole / power == value ? within(whole, bound) : null;
        }
        return Double.isFinite(value) ? of(new BigDecimal(Double.toString(value)), digits, bound) : null;
    }

    public static Long of(Decimal value, int digits, long bound) {
        return of(value.toJavaBigDecimal(), digits, bound);
    }

    public static Long of(UTF8String text, int digits, long bound) {
        int size = text.numBytes();
        boolean isNegative = size > 0 && text.getByte(0) == '-';
        long whole = 0;
        int count = 0;
        int scale = -1;
        for (int at = isNegative ? 1 : 0; at < size; at++) {
            byte each = text.getByte(at);
            if (each == '.' && scale < 0) {
                scale = 0;
            } else if (each >= '0' && each <= '9' && count < MOST_DIGITS) {
                whole = 10 * whole + each - '0';
                count++;
                scale = scale < 0 ? scale : scale + 1;
            } else {
                return ofOther(text, digits, bound);
            }
        }
        if (count == 0) {
            return null;
        }
        for (scale = Math.max(scale, 0); scale > digits; scale--) {
            if (whole % 10 != 0) {
                return null;
            }
            whole /= 10;
        }
        long power = POWERS[digits - scale];
        return whole > bound / power ? null : (Long) (isNegative ? -whole * power : whole * power);
    }

    /** Reads a text with an exponent, a plus, spaces around it, or many digits. */
    private static Long ofOther(UTF8String text, int digits, long bound) {
        String trimmed = text.numBytes() > LONGEST ? "" : text.toString().trim();
        if (!NUMBER.matcher(trimmed).matches()) {
            return null;
        }
        try {
            return of(new BigDecimal(trimmed), digits, bound);
        } catch (NumberFormatException error) {
            return null;
        }
    }

    private static Long of(BigDecimal value, int digits, long bound) {
        // A number with a large exponent would be written out.
        if (value.signum() == 0 || (long) value.precision() - value.scale() > MOST_DIGITS + 1) {
            return value.signum() == 0 ? 0L : null;
        }
        BigDecimal stripped = value.stripTrailingZeros();
        if (stripped.scale() > digits) {
            return null;
        }
        BigInteger whole = stripped.movePointRight(digits).toBigIntegerExact();
        return whole.bitLength() < Long.SIZE ? within(whole.longValue(), bound) : null;
    }

    private static Long within(long whole, long bound) {
        return whole > bound || whole < -bound ? null : (Long) whole;
    }
}
