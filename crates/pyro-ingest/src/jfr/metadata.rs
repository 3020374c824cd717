//! What a chunk says about its own types, compiled to the steps that read or skip a value.

use std::collections::HashMap;

use super::bytes::{Cursor, Malformed, Read};

/// Steps that one type may compile to; nesting beyond this is taken for damage.
const MAX_STEPS: usize = 4096;
/// Depth of elements and of nested types.
const MAX_DEPTH: usize = 32;

/// One step of passing over a value.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// An integer, or the key of a pooled value.
    Varint,
    /// So many of them.
    Varints(usize),
    /// A boolean or a byte.
    Byte,
    /// Float or double: bytes.
    Fixed(usize),
    /// A string.
    Text,
    /// A count, and so many times the inner steps.
    Array(Vec<Step>),
}

/// A field of a type.
#[derive(Debug, Clone)]
pub struct Field {
    /// Name.
    pub name: String,
    /// Id of its type.
    pub class: u64,
    pooled: bool,
    array: bool,
}

/// A type of the chunk.
#[derive(Debug, Clone, Default)]
pub struct Type {
    /// Such as `jdk.ExecutionSample` or `int`.
    pub name: String,
    /// In the order in which they are written.
    pub fields: Vec<Field>,
}

/// All types of a chunk.
#[derive(Debug, Default)]
pub struct Metadata {
    types: HashMap<u64, Type>,
    ids: HashMap<String, u64>,
}

impl Metadata {
    /// Reads a metadata event behind its start, its duration and its number.
    ///
    /// # Errors
    /// If the bytes are not a metadata event.
    pub fn parse(description: &[u8]) -> Read<Self> {
        let mut cursor = Cursor::new(description);
        let count = cursor.count()?;
        let strings: Vec<String> = (0..count)
            .map(|_| cursor.text().map(|text| text.decode().unwrap_or_default()))
            .collect::<Read<_>>()?;
        let mut metadata = Self::default();
        metadata.element(&mut cursor, &strings, None, 0)?;
        Ok(metadata)
    }

    /// Reads one element and its children; `class` is the id of the class around it.
    fn element(
        &mut self,
        cursor: &mut Cursor<'_>,
        strings: &[String],
        class: Option<u64>,
        depth: usize,
    ) -> Read<()> {
        if depth > MAX_DEPTH {
            return Err(Malformed);
        }
        let string = |index: u64| {
            usize::try_from(index)
                .ok()
                .and_then(|i| strings.get(i))
                .ok_or(Malformed)
        };
        let name = string(cursor.varint()?)?;
        let mut attributes = HashMap::new();
        for _ in 0..cursor.count()? {
            let (key, value) = (string(cursor.varint()?)?, string(cursor.varint()?)?);
            attributes.insert(key.as_str(), value.as_str());
        }
        let id = |key: &str| {
            attributes
                .get(key)
                .and_then(|text| text.parse::<u64>().ok())
        };
        let mut around = class;
        match (name.as_str(), class) {
            ("class", _) => {
                let id = id("id").ok_or(Malformed)?;
                let name = (*attributes.get("name").ok_or(Malformed)?).to_owned();
                self.ids.insert(name.clone(), id);
                self.types.insert(
                    id,
                    Type {
                        name,
                        fields: Vec::new(),
                    },
                );
                around = Some(id);
            }
            ("field", Some(class)) => {
                let field = Field {
                    name: (*attributes.get("name").ok_or(Malformed)?).to_owned(),
                    class: id("class").ok_or(Malformed)?,
                    pooled: attributes.get("constantPool") == Some(&"true"),
                    array: attributes.get("dimension").is_some_and(|d| *d != "0"),
                };
                self.types
                    .get_mut(&class)
                    .ok_or(Malformed)?
                    .fields
                    .push(field);
                around = None;
            }
            _ => {}
        }
        for _ in 0..cursor.count()? {
            self.element(cursor, strings, around, depth + 1)?;
        }
        Ok(())
    }

    /// Id of the type called `name`.
    pub fn id(&self, name: &str) -> Option<u64> {
        self.ids.get(name).copied()
    }

    /// The type with this id.
    pub fn get(&self, id: u64) -> Option<&Type> {
        self.types.get(&id)
    }

    /// Steps over a whole value of type `id`.
    ///
    /// # Errors
    /// If a type is unknown, or nested beyond reason.
    pub fn steps(&self, id: u64) -> Read<Vec<Step>> {
        let mut steps = Vec::new();
        self.append(id, &mut steps, &mut 0, 0)?;
        Ok(steps)
    }

    /// Steps over the value of one field.
    ///
    /// # Errors
    /// As [`steps`](Self::steps).
    pub fn field_steps(&self, field: &Field) -> Read<Vec<Step>> {
        let mut steps = Vec::new();
        self.append_field(field, &mut steps, &mut 0, 0)?;
        Ok(steps)
    }

    fn append(&self, id: u64, steps: &mut Vec<Step>, total: &mut usize, depth: usize) -> Read<()> {
        let class = self.types.get(&id).ok_or(Malformed)?;
        let step = match class.name.as_str() {
            "boolean" | "byte" => Step::Byte,
            "char" | "short" | "int" | "long" => Step::Varint,
            "float" => Step::Fixed(4),
            "double" => Step::Fixed(8),
            "java.lang.String" => Step::Text,
            _ if depth > MAX_DEPTH => return Err(Malformed),
            _ => {
                return class
                    .fields
                    .iter()
                    .try_for_each(|f| self.append_field(f, steps, total, depth + 1));
            }
        };
        push(steps, step, total)
    }

    fn append_field(
        &self,
        field: &Field,
        steps: &mut Vec<Step>,
        total: &mut usize,
        depth: usize,
    ) -> Read<()> {
        let mut inner = Vec::new();
        let value = if field.array { &mut inner } else { &mut *steps };
        if field.pooled {
            push(value, Step::Varint, total)?;
        } else {
            self.append(field.class, value, total, depth)?;
        }
        if field.array {
            push(steps, Step::Array(inner), total)
        } else {
            Ok(())
        }
    }
}

fn push(steps: &mut Vec<Step>, step: Step, total: &mut usize) -> Read<()> {
    *total += 1;
    if *total > MAX_STEPS {
        return Err(Malformed);
    }
    steps.push(step);
    Ok(())
}

/// The same steps with integers that follow each other in one.
pub fn merged(steps: Vec<Step>) -> Vec<Step> {
    let mut merged = Vec::new();
    for step in steps {
        match (step, merged.last_mut()) {
            (Step::Varint, Some(Step::Varints(count))) => *count += 1,
            (Step::Varint, _) => merged.push(Step::Varints(1)),
            (Step::Array(inner), _) => merged.push(Step::Array(self::merged(inner))),
            (other, _) => merged.push(other),
        }
    }
    merged
}
