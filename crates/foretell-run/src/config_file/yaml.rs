//! Puts values into the text of a YAML file; every other letter stays as it is.

use std::collections::BTreeSet;
use std::ops::Range;

use foretell_logs::{YamlContent, YamlNode, parse_yaml_documents};
use serde_json::{Map, Value};

use super::names::levels;

/// A parameter whose value cannot be put in; without a problem, because it has no place.
#[derive(Debug)]
pub(super) struct UnplacedParameter {
    pub(super) name: String,
    pub(super) problem: Option<&'static str>,
}

/// The way down from a document: the number of an item or of a field at each level. Aliases are no level.
type NodePath = Vec<usize>;

/// `text`, whose documents are `documents`, with the values of `parameters` in the places of their names.
///
/// An alias on the way to a parameter is written out, so that its anchor keeps a value of its own.
pub(super) fn replace_values(
    text: &str,
    documents: &[YamlNode],
    parameters: &Map<String, Value>,
) -> Result<String, UnplacedParameter> {
    let mut changed = documents.to_vec();
    let mut sites = BTreeSet::new();
    for (name, value) in parameters {
        let (document, steps) = find_entry(documents, name)?;
        let node = steps.iter().fold(&mut changed[document], |node, step| node.child_mut(*step));
        node.content = to_scalar(value);
        sites.insert((document, steps[..rewrite_depth(&documents[document], &steps)].to_vec()));
    }
    let mut edits = Vec::new();
    for (document, steps) in &sites {
        let node = steps.iter().fold(&changed[*document], |node, step| node.child(*step));
        edits.push(edit_node(
            text,
            &documents[*document],
            steps,
            &YamlNode { tag: None, ..node.clone() }.to_flow_text(),
        ));
    }
    edits.sort_by_key(|(range, _)| std::cmp::Reverse(range.start));
    let mut result = text.to_owned();
    let mut next = text.len();
    for (range, new) in edits {
        // one inside another that was written before is found missing below
        if range.end <= next {
            next = range.start;
            result.replace_range(range, &new);
        }
    }
    check_values(&result, parameters)?;
    Ok(result)
}

/// The place of an entry: its document and the way down.
fn find_entry(documents: &[YamlNode], name: &str) -> Result<(usize, NodePath), UnplacedParameter> {
    let mut found =
        documents.iter().enumerate().filter_map(|(at, document)| Some((at, path_to_entry(document, name)?)));
    match (found.next(), found.next()) {
        (Some(place), None) => Ok(place),
        (None, _) => Err(UnplacedParameter { name: name.to_owned(), problem: None }),
        _ => Err(UnplacedParameter {
            name: name.to_owned(),
            problem: Some("several documents of the file contain it"),
        }),
    }
}

/// The way from `node` to the entry called `name`: keys and numbers of items, joined by dots.
fn path_to_entry(node: &YamlNode, name: &str) -> Option<NodePath> {
    if name.is_empty() {
        return Some(NodePath::new());
    }
    match &node.resolve_alias().content {
        YamlContent::List(items) => {
            let (at, rest) = levels(name).find_map(|(first, rest)| Some((first.parse().ok()?, rest)))?;
            Some([vec![at], path_to_entry(items.get(at)?, rest)?].concat())
        }
        YamlContent::Map(fields) => {
            // of two fields of one name, the last counts; fields of a merged map count where there is none of their name
            let own = fields.iter().enumerate().rev().find_map(|(at, (key, value))| {
                let (_, rest) = levels(name).find(|(first, _)| key.scalar_text() == Some(first))?;
                Some([vec![at], path_to_entry(value, rest)?].concat())
            });
            own.or_else(|| {
                let mut merged = fields.iter().enumerate().filter(|(_, (key, _))| key.is_merge_key());
                merged.find_map(|(at, (_, value))| Some([vec![at], path_in_merged(value, name)?].concat()))
            })
        }
        _ => None,
    }
}

/// The way to an entry of a merged map, or of the first of several that has it.
fn path_in_merged(merged: &YamlNode, name: &str) -> Option<NodePath> {
    match &merged.resolve_alias().content {
        YamlContent::List(maps) => {
            maps.iter().enumerate().find_map(|(at, map)| Some([vec![at], path_to_entry(map, name)?].concat()))
        }
        _ => path_to_entry(merged, name),
    }
}

/// The number of steps to the node that is written again: all of them, or those to the first alias.
fn rewrite_depth(document: &YamlNode, steps: &[usize]) -> usize {
    let mut node = document;
    for (depth, step) in steps.iter().enumerate() {
        if matches!(node.content, YamlContent::Alias(_)) {
            return depth;
        }
        node = node.child(*step);
    }
    steps.len()
}

/// The bytes of the node at the end of `steps`, without its anchor and its tag, and the text `new` as it stands in their place.
fn edit_node(text: &str, document: &YamlNode, steps: &[usize], new: &str) -> (Range<usize>, String) {
    let (last, above) = steps.split_last().expect("an entry has a name, and so one step at least");
    let parent = above.iter().fold(document, |node, step| node.child(*step));
    let span = parent.child(*last).span.clone();
    if let (YamlContent::Map(fields), true) = (&parent.content, text[span.clone()].trim().is_empty()) {
        // `name:` without a value, which stands nowhere: after the colon
        let key = fields[*last].0.span.end;
        let colon = text[key..].find(':').map_or(key, |at| key + at + 1);
        return (colon..colon, format!(" {new}"));
    }
    let mut own = &text[span.clone()];
    while own.starts_with(['&', '!']) {
        own = own.find(char::is_whitespace).map_or("", |end| own[end..].trim_start());
    }
    if own.is_empty() {
        return (span.end..span.end, format!(" {new}"));
    }
    // a block of lines ends with its last line
    let end = if own.ends_with('\n') { "\n" } else { "" };
    (span.end - own.len()..span.end, format!("{new}{end}"))
}

/// A value as YAML has it.
fn to_scalar(value: &Value) -> YamlContent {
    let text = match value {
        Value::String(text) => return YamlContent::Scalar { text: text.clone(), is_plain: false },
        // `1e-5` is a text for PyYAML: a number with an exponent needs a point and a sign
        Value::Number(number) => match number.to_string().split_once('e') {
            None => number.to_string(),
            Some((digits, exponent)) => {
                let point = if digits.contains('.') { "" } else { ".0" };
                let sign = if exponent.starts_with(['-', '+']) { "" } else { "+" };
                format!("{digits}{point}e{sign}{exponent}")
            }
        },
        other => other.to_string(),
    };
    YamlContent::Scalar { text, is_plain: true }
}

/// The proof: each parameter is read from the new text as the value that it was given.
fn check_values(text: &str, parameters: &Map<String, Value>) -> Result<(), UnplacedParameter> {
    let documents = parse_yaml_documents(text).unwrap_or_default();
    for (name, value) in parameters {
        let (document, steps) = find_entry(&documents, name)?;
        let found = steps.iter().fold(&documents[document], |node, step| node.child(*step)).to_json();
        let is_same_number = found.as_f64().is_some_and(|number| value.as_f64() == Some(number));
        if found != *value && !is_same_number {
            let problem =
                Some("the script would read another value. Write the entry in one line, as `name: 1`");
            return Err(UnplacedParameter { name: name.clone(), problem });
        }
    }
    Ok(())
}
