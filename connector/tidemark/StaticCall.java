package tidemark;

import java.util.Arrays;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke;
import org.apache.spark.sql.classic.ExpressionUtils;
import org.apache.spark.sql.types.AbstractDataType;
import org.apache.spark.sql.types.DataType;
import scala.Option;
import scala.collection.immutable.ArraySeq;

/** Columns of the values of static methods, which the code that Spark generates calls. */
final class StaticCall {
    private StaticCall() { }

    /**
     * Returns the values of a method, null if an argument is null.
     *
     * @param isNullable whether the method may return null
     * @param types to which Spark casts the arguments; without types it takes the method of their own types
     */
    static Column column(
        Class<?> owner, String method, DataType returned, boolean isNullable, AbstractDataType[] types, Column... arguments) {
        Expression[] expressions = Arrays.stream(arguments).map(ExpressionUtils::expression).toArray(Expression[]::new);
        return ExpressionUtils.column(new StaticInvoke(
            owner, returned, method, ArraySeq.unsafeWrapArray(expressions), ArraySeq.unsafeWrapArray(types), true, isNullable, true,
            Option.empty()));
    }
}
