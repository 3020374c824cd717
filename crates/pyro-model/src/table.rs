//! What every generated table builder can do.

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use crate::error::Result;

/// A typed builder of one table.
pub trait Table: Default {
    /// Name in `schema/tables.toml`.
    const NAME: &'static str;
    /// Arrow schema of the table.
    fn schema() -> SchemaRef;
    /// Rows held now.
    fn len(&self) -> usize;
    /// No row held.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Bytes held now, roughly.
    fn approx_bytes(&self) -> usize;
    /// The rows as a batch; the builder is empty afterwards.
    ///
    /// # Errors
    /// If columns differ in length or a column that must not be null holds a null.
    fn finish(&mut self) -> Result<RecordBatch>;
}

/// Declares builders: one public Arrow builder per column, in the schema's order.
macro_rules! builders {
    ($(
        #[doc = $doc:literal]
        $builder:ident = $name:literal {
            $(#[doc = $column_doc:literal] $column:ident : $kind:ident, null = $null:literal;)*
        }
    )*) => {
        $(
            #[doc = $doc]
            #[derive(Default)]
            pub struct $builder {
                $(#[doc = $column_doc] pub $column: $kind,)*
            }

            impl $crate::table::Table for $builder {
                const NAME: &'static str = $name;

                fn schema() -> arrow_schema::SchemaRef {
                    static SCHEMA: std::sync::OnceLock<arrow_schema::SchemaRef> = std::sync::OnceLock::new();
                    SCHEMA
                        .get_or_init(|| {
                            std::sync::Arc::new(arrow_schema::Schema::new(vec![$(
                                arrow_schema::Field::new(
                                    stringify!($column),
                                    <$kind as Column>::data_type(),
                                    $null,
                                ),
                            )*]))
                        })
                        .clone()
                }

                fn len(&self) -> usize {
                    let lengths = [$(arrow_array::builder::ArrayBuilder::len(&self.$column)),*];
                    lengths[0]
                }

                fn approx_bytes(&self) -> usize {
                    0 $(+ Column::approx_bytes(&self.$column))*
                }

                fn finish(&mut self) -> $crate::error::Result<arrow_array::RecordBatch> {
                    let columns = vec![$(self.$column.finish_array()),*];
                    arrow_array::RecordBatch::try_new(<Self as $crate::table::Table>::schema(), columns)
                        .map_err(|error| $crate::error::Error::Table(format!("table {}: {error}", $name)))
                }
            }
        )*
    };
}
pub(crate) use builders;
