package tidemark;

import java.io.Serializable;
import java.util.List;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.analysis.UnresolvedAttribute;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.BindReferences;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.objects.Invoke;
import org.apache.spark.sql.catalyst.expressions.package$;
import org.apache.spark.sql.catalyst.optimizer.ReplaceExpressions;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.ExpressionUtils;
import org.apache.spark.sql.types.AbstractDataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.ObjectType;
import org.apache.spark.unsafe.types.UTF8String;
import scala.collection.immutable.ArraySeq;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The texts that an expression has of the texts of one field, which a task remembers: most records have a text that
 * others have, and to parse an address takes several times as long as to find it.
 */
public final class Memo implements Serializable {
    private static final long serialVersionUID = 1L;
    private static final int SLOTS = 1 << 12;
    private static final int MOST_BYTES = 512;

    private final Expression expression;
    private transient UTF8String[] texts;
    private transient UTF8String[] values;

    private Memo(Expression expression) {
        this.expression = expression;
    }

    /** Returns a column with the values of {@code value}, which is a text: remembered if it depends on one text of {@code rows}. */
    public static Column column(Dataset<Row> rows, Column value) {
        Expression found = first(first(ReplaceExpressions.apply(
            rows.select(value.alias("value")).queryExecution().analyzed()).expressions()).children());
        Seq<Attribute> references = found.references().toSeq();
        List<Attribute> fields = CollectionConverters.asJava(references);
        boolean isOfText = fields.size() == 1 && fields.get(0).dataType().equals(DataTypes.StringType);
        if (!isOfText || found instanceof Attribute || !found.deterministic()) {
            return value;
        }
        Memo memo = new Memo(BindReferences.bindReference(found, package$.MODULE$.AttributeSeq(references), false));
        return ExpressionUtils.column(new Invoke(
            Literal.create(memo, new ObjectType(Memo.class)), "valueOf", DataTypes.StringType,
            ArraySeq.unsafeWrapArray(new Expression[] {UnresolvedAttribute.quoted(fields.get(0).name())}),
            ArraySeq.unsafeWrapArray(new AbstractDataType[0]), false, true, true));
    }

    /** Returns the value of a text, which may be null; called by the code that Spark generates. */
    public UTF8String valueOf(UTF8String text) {
        if (text == null || text.numBytes() > MOST_BYTES) {
            return computed(text);
        }
        if (texts == null) {
            texts = new UTF8String[SLOTS];
            values = new UTF8String[SLOTS];
        }
        int slot = text.hashCode() & (SLOTS - 1);
        if (!text.equals(texts[slot])) {
            UTF8String own = text.clone();
            UTF8String value = computed(own);
            if (value != null && value.numBytes() > MOST_BYTES) {
                return value;
            }
            texts[slot] = own;
            values[slot] = value;
        }
        return values[slot];
    }

    private static Expression first(Seq<Expression> expressions) {
        return CollectionConverters.asJava(expressions).get(0);
    }

    private UTF8String computed(UTF8String text) {
        return (UTF8String) expression.eval(new GenericInternalRow(new Object[] {text}));
    }
}
