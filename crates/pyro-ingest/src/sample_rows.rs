//! Rows of table `samples`, held as columns of numbers.
//!
//! A busy recording has a million samples and a few hundred distinct strings. All string columns
//! share one list of labels, so that a row costs no hashing of text. Most samples differ from one
//! before in time and weight alone: what they share is held once, until columns are encoded.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{
    Array as _, ArrayRef, DictionaryArray, Int32Array, Int64Array, RecordBatch, StringArray,
    new_null_array,
};
use arrow_buffer::{BooleanBuffer, NullBuffer, ScalarBuffer};
use arrow_schema::{Field, SchemaRef};
use pyro_model::{Error, Result, SamplesBuilder, Table};
use pyro_stacks::folded::Names;
use rustc_hash::FxHashMap;

/// Number of a string.
pub(crate) type Label = i32;

/// Strings that are found without hashing; a power of two.
const RECENT: usize = 64;

/// The strings of all columns.
struct Labels {
    names: Names,
    fixed: FxHashMap<(usize, usize), Label>,
    /// Of the same, some that came last.
    recent: [Option<(usize, usize, Label)>; RECENT],
    array: Option<Arc<StringArray>>,
}

impl Default for Labels {
    fn default() -> Self {
        Self {
            names: Names::default(),
            fixed: FxHashMap::default(),
            recent: [None; RECENT],
            array: None,
        }
    }
}

impl Labels {
    fn of(&mut self, text: &str) -> Label {
        self.names.number(text.as_bytes()) as Label
    }

    /// The same for text that lives for ever, identified by its address.
    #[inline]
    fn of_fixed(&mut self, text: &'static str) -> Label {
        let (address, length) = (text.as_ptr() as usize, text.len());
        let place = (address ^ address >> 6) % RECENT;
        match self.recent[place] {
            Some((a, l, label)) if a == address && l == length => label,
            _ => {
                let known = self.fixed.get(&(address, length)).copied();
                let label = known.unwrap_or_else(|| self.of(text));
                self.fixed.insert((address, length), label);
                self.recent[place] = Some((address, length, label));
                label
            }
        }
    }

    fn array(&mut self) -> Arc<StringArray> {
        let known = self.array.as_ref().map(|array| array.len());
        if known != Some(self.names.len()) {
            let texts = (0..self.names.len() as u32).map(|number| self.names.get(number));
            let texts = texts.map(|text| std::str::from_utf8(text).ok());
            self.array = Some(Arc::new(texts.collect()));
        }
        self.array.clone().expect("built above")
    }
}

/// Values of a column; the smallest stands for a missing one.
trait Value: Copy + PartialEq {
    const MISSING: Self;
}
impl Value for i32 {
    const MISSING: Self = i32::MIN;
}
impl Value for i64 {
    const MISSING: Self = i64::MIN;
}

/// Takes the values out of a column, with what is missing of them.
fn taken<T: Value>(values: &mut Vec<T>, field: &Field) -> (Vec<T>, Option<NullBuffer>) {
    let capacity = values.len();
    let values = std::mem::replace(values, Vec::with_capacity(capacity));
    let nulls = missing(&values, field);
    (values, nulls)
}

fn missing<T: Value>(values: &[T], field: &Field) -> Option<NullBuffer> {
    if !field.is_nullable() || !values.contains(&T::MISSING) {
        return None;
    }
    let known = BooleanBuffer::collect_bool(values.len(), |row| values[row] != T::MISSING);
    Some(NullBuffer::new(known))
}

/// Takes out of a column the values of rows, which are at these places of it.
fn spread<T: Value>(
    values: &mut Vec<T>,
    places: &[u32],
    field: &Field,
) -> (Vec<T>, Option<NullBuffer>) {
    let one = values.first().copied().unwrap_or(T::MISSING);
    let spread = if values.iter().all(|&value| value == one) {
        let nulls =
            (one == T::MISSING && field.is_nullable()).then(|| NullBuffer::new_null(places.len()));
        (vec![one; places.len()], nulls)
    } else {
        let of_rows: Vec<T> = places.iter().map(|&place| values[place as usize]).collect();
        let nulls = missing(&of_rows, field);
        (of_rows, nulls)
    };
    values.clear();
    spread
}

/// Declares what of table `samples` a profile can fill, by the columns' names.
macro_rules! columns {
    (
        labels { $($label:ident)* }
        longs { $($long:ident)* }
        ints { $($int:ident)* }
    ) => {
        /// One row; what is absent is null.
        #[derive(Debug, Clone, Copy, Default)]
        #[allow(missing_docs, reason = "described in schema/tables.toml")]
        pub(crate) struct Row {
            $(pub $label: Option<Label>,)*
            $(pub $long: Option<i64>,)*
            $(pub $int: Option<i32>,)*
            pub t_ns: Option<i64>,
            pub weight: Option<i64>,
        }

        /// Columns of some rows.
        #[derive(Default)]
        pub(crate) struct SampleColumns {
            t_ns: Vec<i64>,
            weight: Vec<i64>,
            /// Where in the other columns the values of each row are.
            places: Vec<u32>,
            $($label: Vec<Label>,)*
            $($long: Vec<i64>,)*
            $($int: Vec<i32>,)*
        }

        impl SampleColumns {
            fn with_capacity(rows: usize, places: usize) -> Self {
                Self {
                    t_ns: Vec::with_capacity(rows),
                    weight: Vec::with_capacity(rows),
                    places: Vec::with_capacity(rows),
                    $($label: Vec::with_capacity(places),)*
                    $($long: Vec::with_capacity(places),)*
                    $($int: Vec::with_capacity(places),)*
                }
            }
        }

        /// Columns of table `samples`; those that no profile can fill are null.
        #[derive(Default)]
        pub(crate) struct SampleRows {
            labels: Labels,
            columns: SampleColumns,
        }

        /// Bytes of a row.
        const ROW_BYTES: usize = 4 * [$(stringify!($label)),*].len()
            + 8 * [$(stringify!($long)),*].len()
            + 4 * [$(stringify!($int)),*].len()
            + 8 * ["t_ns", "weight"].len();

        impl SampleRows {
            /// Appends a row.
            pub fn push(&mut self, row: &Row) {
                let columns = &mut self.columns;
                columns.places.push(columns.host.len() as u32);
                columns.t_ns.push(row.t_ns.unwrap_or(i64::MISSING));
                columns.weight.push(row.weight.unwrap_or(i64::MISSING));
                $(columns.$label.push(row.$label.unwrap_or(Label::MISSING));)*
                $(columns.$long.push(row.$long.unwrap_or(i64::MISSING));)*
                $(columns.$int.push(row.$int.unwrap_or(i32::MISSING));)*
            }

            /// Appends rows that were made elsewhere: `labels` are the numbers that its strings
            /// have here, `stacks` those of its stacks.
            pub fn append(
                &mut self,
                from: &SampleColumns,
                rows: Range<usize>,
                labels: &[Label],
                stacks: &[i32],
            ) {
                let columns = &mut self.columns;
                let start = columns.host.len();
                columns.t_ns.extend_from_slice(&from.t_ns[rows.clone()]);
                columns.weight.extend_from_slice(&from.weight[rows.clone()]);
                let places = from.places[rows].iter().map(|place| place + start as u32);
                columns.places.extend(places);
                $(renumber(&mut columns.$label, &from.$label, labels);)*
                $(columns.$long.extend_from_slice(&from.$long);)*
                $(columns.$int.extend_from_slice(&from.$int);)*
                for stack in &mut columns.java_stack[start..] {
                    *stack = renumbered(*stack, stacks);
                }
            }

            fn column(&mut self, field: &Field) -> Result<ArrayRef> {
                let columns = &mut self.columns;
                let places = &columns.places;
                match field.name().as_str() {
                    $(stringify!($label) => {
                        let (keys, nulls) = spread(&mut columns.$label, places, field);
                        self.labelled(keys, nulls)
                    })*
                    $(stringify!($long) => {
                        let (values, nulls) = spread(&mut columns.$long, places, field);
                        Ok(Arc::new(Int64Array::new(ScalarBuffer::from(values), nulls)))
                    })*
                    $(stringify!($int) => {
                        let (values, nulls) = spread(&mut columns.$int, places, field);
                        Ok(Arc::new(Int32Array::new(ScalarBuffer::from(values), nulls)))
                    })*
                    "t_ns" => Ok(longs(&mut columns.t_ns, field)),
                    "weight" => Ok(longs(&mut columns.weight, field)),
                    _ => Ok(new_null_array(field.data_type(), places.len())),
                }
            }
        }
    };
}
columns! {
    labels {
        host clock source event unit state wait_class category role thread_name operator top_class
    }
    longs { pid tid task_attempt_id stage_id job_id sql_id }
    ints { stage_attempt codegen_stage_id iteration java_stack }
}

impl SampleColumns {
    /// Rows.
    pub fn len(&self) -> usize {
        self.places.len()
    }
}

fn longs(values: &mut Vec<i64>, field: &Field) -> ArrayRef {
    let (values, nulls) = taken(values, field);
    Arc::new(Int64Array::new(ScalarBuffer::from(values), nulls))
}

/// Appends numbers of strings that are others here.
fn renumber(to: &mut Vec<Label>, from: &[Label], labels: &[Label]) {
    to.extend(from.iter().map(|&label| renumbered(label, labels)));
}

/// The number that another one stands for; a missing one stays so.
#[inline]
fn renumbered(number: i32, numbers: &[i32]) -> i32 {
    match usize::try_from(number) {
        Ok(place) => numbers[place],
        Err(_) => number,
    }
}

impl SampleRows {
    /// Number of a string.
    pub fn label(&mut self, text: &str) -> Label {
        self.labels.of(text)
    }

    /// Strings so far.
    pub fn labels_count(&self) -> usize {
        self.labels.names.len()
    }

    /// The string with this number, which has one.
    pub fn label_text(&self, label: usize) -> &str {
        let text = self.labels.names.get(label as u32);
        std::str::from_utf8(text).expect("made of text")
    }

    /// Takes the rows out; strings keep their numbers. As many are expected again.
    pub fn take(&mut self) -> SampleColumns {
        let columns = &self.columns;
        let next = SampleColumns::with_capacity(columns.len(), columns.host.len());
        std::mem::replace(&mut self.columns, next)
    }

    /// Appends a row that differs in time and weight alone from the one with which the values at
    /// `place` came.
    #[inline]
    pub fn push_like(&mut self, place: u32, t_ns: i64, weight: i64) {
        let columns = &mut self.columns;
        columns.places.push(place);
        columns.t_ns.push(t_ns);
        columns.weight.push(weight);
    }

    /// Number of a string that lives for ever: cheaper.
    #[inline]
    pub fn fixed(&mut self, text: &'static str) -> Label {
        self.labels.of_fixed(text)
    }

    fn labelled(&mut self, mut keys: Vec<Label>, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
        if nulls.is_some() {
            // A key counts even where there is no value.
            keys.iter_mut().for_each(|key| *key = (*key).max(0));
        }
        let keys = Int32Array::new(ScalarBuffer::from(keys), nulls);
        let array = DictionaryArray::try_new(keys, self.labels.array()).map_err(Error::from)?;
        Ok(Arc::new(array))
    }
}

impl Table for SampleRows {
    const NAME: &'static str = SamplesBuilder::NAME;

    fn schema() -> SchemaRef {
        SamplesBuilder::schema()
    }

    fn len(&self) -> usize {
        self.columns.len()
    }

    fn approx_bytes(&self) -> usize {
        self.columns.len() * ROW_BYTES
    }

    fn finish(&mut self) -> Result<RecordBatch> {
        let schema = Self::schema();
        let columns = schema.fields().iter().map(|field| self.column(field));
        let columns = columns.collect::<Result<Vec<_>>>()?;
        self.columns.places.clear();
        Ok(RecordBatch::try_new(schema, columns)?)
    }
}
