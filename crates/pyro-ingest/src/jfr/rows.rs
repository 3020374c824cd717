//! Rows of table `samples`, held as columns of numbers.
//!
//! A busy recording has a million samples and a few hundred distinct strings. All string columns
//! share one list of labels, so that a row costs no hashing of text.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::builder::{Int32Builder, Int64Builder};
use arrow_array::{
    ArrayRef, DictionaryArray, Int32Array, RecordBatch, StringArray, new_null_array,
};
use arrow_schema::SchemaRef;
use pyro_model::{Error, Result, SamplesBuilder, Table};

use super::pools::KeyMap;

/// Number of a string.
pub type Label = i32;

/// The strings of all columns.
#[derive(Default)]
struct Labels {
    numbers: HashMap<String, Label>,
    texts: Vec<String>,
    fixed: KeyMap<(usize, usize), Label>,
    array: Option<Arc<StringArray>>,
}

impl Labels {
    fn of(&mut self, text: &str) -> Label {
        if let Some(&known) = self.numbers.get(text) {
            return known;
        }
        let number = self.texts.len() as Label;
        self.numbers.insert(text.to_owned(), number);
        self.texts.push(text.to_owned());
        self.array = None;
        number
    }

    /// The same for text that lives for ever, told by its address.
    #[inline]
    fn of_fixed(&mut self, text: &'static str) -> Label {
        let key = (text.as_ptr() as usize, text.len());
        match self.fixed.get(&key) {
            Some(&known) => known,
            None => {
                let number = self.of(text);
                self.fixed.insert(key, number);
                number
            }
        }
    }

    fn array(&mut self) -> Arc<StringArray> {
        let texts = &self.texts;
        self.array
            .get_or_insert_with(|| Arc::new(texts.iter().map(Some).collect()))
            .clone()
    }
}

/// String columns, by name in the table.
const LABELLED: [&str; 12] = [
    "host",
    "clock",
    "source",
    "event",
    "unit",
    "state",
    "wait_class",
    "category",
    "role",
    "thread_name",
    "operator",
    "top_class",
];
/// 64-bit columns.
const LONGS: [&str; 8] = [
    "pid",
    "tid",
    "t_ns",
    "weight",
    "task_attempt_id",
    "stage_id",
    "job_id",
    "sql_id",
];
/// 32-bit columns.
const INTS: [&str; 4] = [
    "stage_attempt",
    "codegen_stage_id",
    "iteration",
    "java_stack",
];

/// One row: values in the order of the three lists of columns.
pub struct Row {
    /// Strings.
    pub labels: [Option<Label>; LABELLED.len()],
    /// 64-bit numbers.
    pub longs: [Option<i64>; LONGS.len()],
    /// 32-bit numbers.
    pub ints: [Option<i32>; INTS.len()],
}

/// Columns of table `samples`; those that no recording can fill are null.
#[derive(Default)]
pub struct SampleRows {
    labels: Labels,
    labelled: [Int32Builder; LABELLED.len()],
    longs: [Int64Builder; LONGS.len()],
    ints: [Int32Builder; INTS.len()],
}

impl SampleRows {
    /// Number of a string.
    pub fn label(&mut self, text: &str) -> Label {
        self.labels.of(text)
    }

    /// Number of a string that lives for ever: cheaper.
    #[inline]
    pub fn fixed(&mut self, text: &'static str) -> Label {
        self.labels.of_fixed(text)
    }

    /// Appends a row.
    #[inline]
    pub fn push(&mut self, row: &Row) {
        self.labelled
            .iter_mut()
            .zip(row.labels)
            .for_each(|(column, value)| column.append_option(value));
        self.longs
            .iter_mut()
            .zip(row.longs)
            .for_each(|(column, value)| column.append_option(value));
        self.ints
            .iter_mut()
            .zip(row.ints)
            .for_each(|(column, value)| column.append_option(value));
    }

    fn column(&mut self, name: &str) -> Option<Result<ArrayRef>> {
        let at = |names: &[&str]| names.iter().position(|known| *known == name);
        if let Some(at) = at(&LABELLED) {
            let keys: Int32Array = self.labelled[at].finish();
            let array = DictionaryArray::try_new(keys, self.labels.array());
            return Some(
                array
                    .map(|array| Arc::new(array) as ArrayRef)
                    .map_err(Error::from),
            );
        }
        if let Some(at) = at(&LONGS) {
            return Some(Ok(Arc::new(self.longs[at].finish())));
        }
        at(&INTS).map(|at| Ok(Arc::new(self.ints[at].finish()) as ArrayRef))
    }
}

impl Table for SampleRows {
    const NAME: &'static str = SamplesBuilder::NAME;

    fn schema() -> SchemaRef {
        SamplesBuilder::schema()
    }

    fn len(&self) -> usize {
        use arrow_array::builder::ArrayBuilder as _;
        self.longs[0].len()
    }

    fn approx_bytes(&self) -> usize {
        self.len() * (LABELLED.len() * 4 + LONGS.len() * 8 + INTS.len() * 4)
    }

    fn finish(&mut self) -> Result<RecordBatch> {
        let (schema, rows) = (Self::schema(), self.len());
        let columns = schema.fields().iter().map(|field| {
            let filled = self.column(field.name());
            filled.unwrap_or_else(|| Ok(new_null_array(field.data_type(), rows)))
        });
        let columns = columns.collect::<Result<Vec<_>>>()?;
        Ok(RecordBatch::try_new(schema, columns)?)
    }
}
