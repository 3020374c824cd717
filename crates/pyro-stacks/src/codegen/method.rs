//! Classes and methods of a generated source.

use super::code;

/// A method: its lines lie behind its head, to its closing brace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Method {
    /// Name without parameters.
    pub name: String,
    /// Class around it.
    pub class: String,
    /// First line of the body, from 0.
    pub start: usize,
    /// Line behind the body.
    pub end: usize,
}

enum Block {
    Class(String),
    Method(Method),
    Other,
}

/// Finds the methods of blanked lines, in their order.
pub fn methods(lines: &[String]) -> Vec<Method> {
    let mut found = Vec::new();
    let mut blocks: Vec<Block> = Vec::new();
    // What was read since the last `;`, `{` or `}` where declarations stand.
    let mut head = String::new();
    for (number, line) in lines.iter().enumerate() {
        for c in line.chars() {
            let declares = !blocks.iter().any(|block| matches!(block, Block::Method(_)));
            match c {
                '{' => {
                    blocks.push(opened(&head, &blocks, declares, number));
                    head.clear();
                }
                '}' => {
                    if let Some(Block::Method(mut method)) = blocks.pop() {
                        method.end = number;
                        found.push(method);
                    }
                    head.clear();
                }
                ';' => head.clear(),
                _ if declares => head.push(c),
                _ => {}
            }
        }
        head.push(' ');
    }
    found.sort_by_key(|method| method.start);
    found
}

fn opened(head: &str, blocks: &[Block], declares: bool, number: usize) -> Block {
    if !declares {
        return Block::Other;
    }
    let words: Vec<_> = code::words(head).map(|(_, word)| word).collect();
    if let Some(at) = words.iter().position(|&word| word == "class") {
        let name = words.get(at + 1).copied().unwrap_or_default();
        return Block::Class(name.to_owned());
    }
    let class = blocks.iter().rev().find_map(|block| match block {
        Block::Class(name) => Some(name.clone()),
        _ => None,
    });
    match (code::called(head).next(), class) {
        (Some(name), Some(class)) if !head.contains('=') => Block::Method(Method {
            name: name.to_owned(),
            class,
            start: number + 1,
            end: number + 1,
        }),
        _ => Block::Other,
    }
}
