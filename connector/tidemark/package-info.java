/**
 * The source of the topic for Spark, its decoders, and the second half of a fold.
 *
 * <p>Of Spark it uses these classes that are not public, or not documented as stable. A new version of Spark may change
 * them; the jar is compiled against the locked one, and {@code make test-spark} runs it with the newest that is allowed.
 *
 * <ul>
 * <li>Rows: {@code sql.catalyst.InternalRow}, which the public data sources are made of, with its texts
 *     {@code unsafe.types.UTF8String}; {@code sql.catalyst.expressions.GenericInternalRow} and
 *     {@code sql.catalyst.expressions.SpecificInternalRow}, of which it has no public kind;
 *     {@code sql.catalyst.CatalystTypeConverters}, which makes a public row of one.
 * <li>Columns that are written: {@code sql.execution.vectorized.OnHeapColumnVector} and
 *     {@code sql.execution.vectorized.WritableColumnVector}, in ColumnWriter only.
 * <li>Functions of columns that cost no object for a row: {@code sql.catalyst.expressions.objects.StaticInvoke}, with
 *     {@code sql.catalyst.expressions.Expression}, {@code sql.types.AbstractDataType} and
 *     {@code sql.classic.ExpressionUtils}, in StaticCall and Memo only.
 * <li>A value that a task remembers by a text, in Memo only: {@code sql.catalyst.optimizer.ReplaceExpressions} and
 *     {@code sql.catalyst.expressions.BindReferences}, with {@code sql.catalyst.expressions.package} and
 *     {@code sql.catalyst.expressions.Attribute}, make an expression of it that needs no query;
 *     {@code sql.catalyst.expressions.objects.Invoke}, with {@code sql.catalyst.expressions.Literal} and
 *     {@code sql.catalyst.analysis.UnresolvedAttribute}, calls the object that remembers.
 * <li>The fold: {@code sql.classic.Dataset}, whose tasks get rows without conversion;
 *     {@code sql.catalyst.expressions.XXH64}, a fast hash of texts.
 * <li>Bytes: {@code unsafe.Platform} and {@code unsafe.array.ByteArrayMethods}, which read texts where they are.
 * <li>Memory that Spark counts: {@code memory.MemoryConsumer}, {@code memory.MemoryMode} and
 *     {@code memory.TaskMemoryManager}, in TaskMemory only.
 * </ul>
 */
package tidemark;
