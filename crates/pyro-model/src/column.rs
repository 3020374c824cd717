//! Column builders: names for Arrow's, and what a table needs of each.

use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_array::builder::*;
use arrow_array::types::Int32Type;
use arrow_schema::DataType;

/// 32-bit integers.
pub type I32 = Int32Builder;
/// 64-bit integers.
pub type I64 = Int64Builder;
/// Doubles.
pub type F64 = Float64Builder;
/// Booleans.
pub type Bool = BooleanBuilder;
/// Strings.
pub type Str = StringBuilder;
/// Dictionary-encoded strings: `Dictionary(Int32, Utf8)`.
pub type Dict = StringDictionaryBuilder<Int32Type>;
/// Lists of 32-bit integers.
pub type ListI32 = ListBuilder<Int32Builder>;
/// Lists of 64-bit integers.
pub type ListI64 = ListBuilder<Int64Builder>;

/// What a table needs of a column builder.
pub trait Column: ArrayBuilder + Default {
    /// Arrow type of the finished array.
    fn data_type() -> DataType;
    /// Bytes held now, roughly.
    fn approx_bytes(&self) -> usize;
    /// The values as an array; the builder is empty afterwards.
    fn finish_array(&mut self) -> ArrayRef {
        ArrayBuilder::finish(self)
    }
}

macro_rules! primitive {
    ($($builder:ty, $data_type:expr, $width:expr;)*) => {$(
        impl Column for $builder {
            fn data_type() -> DataType { $data_type }
            fn approx_bytes(&self) -> usize { self.len() * $width }
        }
    )*};
}
primitive! {
    I32, DataType::Int32, 4;
    I64, DataType::Int64, 8;
    F64, DataType::Float64, 8;
    Bool, DataType::Boolean, 1;
    Dict, DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8)), 4;
}

impl Column for Str {
    fn data_type() -> DataType {
        DataType::Utf8
    }
    fn approx_bytes(&self) -> usize {
        self.values_slice().len() + self.len() * 4
    }
}

macro_rules! list {
    ($($builder:ty, $item:expr, $width:expr;)*) => {$(
        impl Column for $builder {
            fn data_type() -> DataType {
                DataType::List(Arc::new(arrow_schema::Field::new_list_field($item, true)))
            }
            fn approx_bytes(&self) -> usize { self.len() * 4 + self.values_ref().len() * $width }
        }
    )*};
}
list! {
    ListI32, DataType::Int32, 4;
    ListI64, DataType::Int64, 8;
}
