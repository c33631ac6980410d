//! YAML texts as trees whose nodes know their place; plain scalars are read as PyYAML reads them.

use crate::notation::is_all_digits;
use saphyr_parser::{Event, Parser, ScalarStyle, Span};
use serde_json::{Map, Value as Json};
use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

/// Deeper files are refused: reading one is recursive.
const MAX_LEVELS: usize = 100;

/// An alias repeats the content of its anchor; a few of them in each other make a file of any size ("a billion laughs").
const MAX_NODES: usize = 100_000;

/// A part of a YAML text.
#[derive(Clone, Debug, PartialEq)]
pub struct YamlNode {
    /// The bytes of the text where it stands, with its tag and its anchor.
    pub span: Range<usize>,
    /// The tag, written out: `tag:yaml.org,2002:float`.
    pub tag: Option<String>,
    /// The content.
    pub content: YamlContent,
}

/// The content of a YAML node.
#[derive(Clone, Debug, PartialEq)]
pub enum YamlContent {
    /// A text, which may stand for a number.
    Scalar {
        /// The text without quotes.
        text: String,
        /// Whether it stands without quotes and not in a block of lines.
        is_plain: bool,
    },
    /// A list.
    List(Vec<YamlNode>),
    /// Names with values, as they follow each other; `<<` is among them.
    Map(Vec<(YamlNode, YamlNode)>),
    /// `*name`, with a copy of the node that it stands for.
    Alias(Box<YamlNode>),
}

/// The documents of a YAML text.
///
/// # Errors
/// The problem in the text, with line and column.
///
/// ```
/// let documents = foretell_logs::parse_yaml_documents("a: &x {lr: 1_000}\nb: *x").expect("this is YAML");
/// assert_eq!(documents[0].to_json(), serde_json::json!({"a": {"lr": 1000}, "b": {"lr": 1000}}));
/// ```
pub fn parse_yaml_documents(text: &str) -> Result<Vec<YamlNode>, String> {
    let bytes = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
    let mut reader =
        YamlReader { parser: Parser::new_from_str(text), bytes, anchors: HashMap::new(), nodes: 0 };
    let mut documents = Vec::new();
    loop {
        match reader.next()? {
            (Event::StreamEnd, _) => return Ok(documents),
            (Event::StreamStart | Event::DocumentStart(_) | Event::DocumentEnd | Event::Nothing, _) => {}
            (event, span) => documents.push(reader.node(event, span, 0)?),
        }
    }
}

/// The parser, and the anchors read so far.
struct YamlReader<'a> {
    parser: Parser<'a, saphyr_parser::StrInput<'a>>,
    /// The byte of each character.
    bytes: Vec<usize>,
    anchors: HashMap<usize, YamlNode>,
    nodes: usize,
}

impl<'a> YamlReader<'a> {
    fn next(&mut self) -> Result<(Event<'a>, Span), String> {
        let event = self.parser.next_event().unwrap_or(Ok((Event::StreamEnd, Span::default())));
        event.map_err(|error| {
            let place = error.marker();
            format!("line {}, column {}: {}", place.line(), place.col() + 1, error.info())
        })
    }

    fn bytes(&self, span: Span) -> Range<usize> {
        let [start, end] =
            [span.start, span.end].map(|mark| self.bytes[mark.index().min(self.bytes.len() - 1)]);
        start..end
    }

    fn node(&mut self, event: Event<'a>, span: Span, level: usize) -> Result<YamlNode, String> {
        self.nodes += 1;
        if level > MAX_LEVELS || self.nodes > MAX_NODES {
            return Err(format!("line {}: nested too deep, or too many aliases", span.start.line()));
        }
        let mut bytes = self.bytes(span);
        let (content, anchor, tag) = match event {
            Event::Scalar(text, style, anchor, tag) => {
                let is_plain = style == ScalarStyle::Plain;
                (YamlContent::Scalar { text: text.into_owned(), is_plain }, anchor, tag)
            }
            Event::Alias(anchor) => (YamlContent::Alias(Box::new(self.copy_anchor(anchor, span)?)), 0, None),
            Event::SequenceStart(anchor, tag) => {
                let mut items = Vec::new();
                loop {
                    match self.next()? {
                        (Event::SequenceEnd, end) => break bytes.end = self.bytes(end).end,
                        (event, span) => items.push(self.node(event, span, level + 1)?),
                    }
                }
                (YamlContent::List(items), anchor, tag)
            }
            Event::MappingStart(anchor, tag) => {
                let mut fields = Vec::new();
                loop {
                    match self.next()? {
                        (Event::MappingEnd, end) => break bytes.end = self.bytes(end).end,
                        (event, span) => {
                            let key = self.node(event, span, level + 1)?;
                            let (event, span) = self.next()?;
                            fields.push((key, self.node(event, span, level + 1)?));
                        }
                    }
                }
                (YamlContent::Map(fields), anchor, tag)
            }
            _ => return Err(format!("line {}: a value is missing", span.start.line())),
        };
        let tag = tag.map(|tag| format!("{}{}", tag.handle, tag.suffix));
        let node = YamlNode { span: bytes, tag, content };
        // only now that the node is whole: an alias of the node it is in would have no end
        if anchor > 0 {
            self.anchors.insert(anchor, node.clone());
        }
        Ok(node)
    }

    /// A copy of the node with an anchor.
    fn copy_anchor(&mut self, anchor: usize, span: Span) -> Result<YamlNode, String> {
        let node = self.anchors.get(&anchor);
        let node =
            node.ok_or_else(|| format!("line {}: an alias of the node it is in", span.start.line()))?;
        // a copy counts in full, because aliases of aliases would otherwise fill the memory
        self.nodes += node.size();
        if self.nodes > MAX_NODES { Err("too many aliases".to_owned()) } else { Ok(node.clone()) }
    }
}

impl YamlNode {
    /// The number of nodes it has.
    fn size(&self) -> usize {
        1 + match &self.content {
            YamlContent::Scalar { .. } => 0,
            YamlContent::List(items) => items.iter().map(Self::size).sum(),
            YamlContent::Map(fields) => fields.iter().map(|(key, value)| key.size() + value.size()).sum(),
            YamlContent::Alias(node) => node.size(),
        }
    }

    /// The node itself, or the one that an alias stands for.
    pub fn resolve_alias(&self) -> &Self {
        match &self.content {
            YamlContent::Alias(node) => node.resolve_alias(),
            _ => self,
        }
    }

    /// The item or the value of the field with the number `step`, also through an alias. Panics if there is none.
    pub fn child(&self, step: usize) -> &Self {
        match &self.resolve_alias().content {
            YamlContent::List(items) => &items[step],
            YamlContent::Map(fields) => &fields[step].1,
            _ => panic!("a scalar contains no part {step}"),
        }
    }

    /// A child to change. An alias gives a copy, so a change leaves the anchor as it is.
    pub fn child_mut(&mut self, step: usize) -> &mut Self {
        match &mut self.content {
            YamlContent::List(items) => &mut items[step],
            YamlContent::Map(fields) => &mut fields[step].1,
            YamlContent::Alias(node) => node.child_mut(step),
            YamlContent::Scalar { .. } => panic!("a scalar contains no part {step}"),
        }
    }

    /// The text of a scalar.
    pub fn scalar_text(&self) -> Option<&str> {
        match &self.resolve_alias().content {
            YamlContent::Scalar { text, .. } => Some(text),
            _ => None,
        }
    }

    /// Whether it is the key `<<`, whose value's entries count where the map has none of their names.
    pub fn is_merge_key(&self) -> bool {
        matches!(&self.content, YamlContent::Scalar { text, is_plain: true } if text == "<<")
    }

    /// The value that PyYAML loads. Numbers that are not finite are texts; of two entries of one name, the last counts.
    pub fn to_json(&self) -> Json {
        match &self.content {
            YamlContent::Scalar { text, is_plain } => match self.tag.as_deref() {
                Some("!" | "tag:yaml.org,2002:str") => Json::String(text.clone()),
                Some("tag:yaml.org,2002:float" | "tag:yaml.org,2002:int") => parse_scalar(text),
                _ if *is_plain => parse_scalar(text),
                _ => Json::String(text.clone()),
            },
            YamlContent::List(items) => items.iter().map(Self::to_json).collect(),
            YamlContent::Map(fields) => {
                let (merged, own): (Vec<_>, Vec<_>) = fields.iter().partition(|(key, _)| key.is_merge_key());
                let mut map = Map::new();
                // before the map's own entries, which would otherwise be replaced by merged ones of their name
                merged.iter().for_each(|(_, value)| merge_entries(&value.to_json(), &mut map));
                for (key, value) in own {
                    let key = key.scalar_text().map_or_else(|| key.to_flow_text(), str::to_owned);
                    map.insert(key, value.to_json());
                }
                Json::Object(map)
            }
            YamlContent::Alias(node) => node.to_json(),
        }
    }

    /// The node in one line, its aliases written out.
    pub fn to_flow_text(&self) -> String {
        let tag = self.tag.as_ref().map_or(String::new(), |tag| format!("!<{tag}> "));
        let content = match &self.content {
            YamlContent::Scalar { text, is_plain: true } if text.is_empty() => "null".to_owned(),
            YamlContent::Scalar { text, is_plain: true }
                if !text.contains([',', '[', ']', '{', '}', '\n']) =>
            {
                text.clone()
            }
            YamlContent::Scalar { text, .. } => Json::from(text.as_str()).to_string(),
            YamlContent::List(items) => {
                format!("[{}]", items.iter().map(Self::to_flow_text).collect::<Vec<_>>().join(", "))
            }
            YamlContent::Map(fields) => {
                let pair =
                    |(key, value): &(Self, Self)| format!("{}: {}", key.to_flow_text(), value.to_flow_text());
                format!("{{{}}}", fields.iter().map(pair).collect::<Vec<_>>().join(", "))
            }
            YamlContent::Alias(node) => node.to_flow_text(),
        };
        tag + &content
    }
}

/// Adds the entries of a merged map, or of a list of them; the first map with a name counts.
fn merge_entries(value: &Json, map: &mut Map<String, Json>) {
    match value {
        Json::Object(fields) => {
            for (name, value) in fields {
                map.entry(name).or_insert_with(|| value.clone());
            }
        }
        Json::Array(items) => items.iter().for_each(|item| merge_entries(item, map)),
        _ => {}
    }
}

/// A plain scalar, by YAML 1.1, as read by PyYAML, which nearly all training scripts use.
fn parse_scalar(text: &str) -> Json {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Json::Null,
        "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => true.into(),
        "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => false.into(),
        _ => match number(text).filter(|number| number.is_finite()) {
            // whole numbers up to 2^53 are exact
            Some(number) if !text.contains('.') && number.abs() < 9e15 => (number as i64).into(),
            Some(number) => number.into(),
            None => text.into(),
        },
    }
}

/// The number that PyYAML makes of a text. Unlike in JSON, `1e-3` is none: it has no point.
fn number(text: &str) -> Option<f64> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let sign = if text.starts_with('-') { -1.0 } else { 1.0 };
    if !digits.starts_with(|first: char| first.is_ascii_digit() || first == '.') {
        return None;
    }
    let plain: Cow<'_, str> =
        if digits.contains('_') { digits.replace('_', "").into() } else { digits.into() };
    let absolute = if let Some(binary) = plain.strip_prefix("0b") {
        parse_integer(binary, 2)
    } else if let Some(hexadecimal) = plain.strip_prefix("0x") {
        parse_integer(hexadecimal, 16)
    } else if plain.contains(':') {
        parse_sexagesimal(&plain)
    } else if plain.bytes().all(|byte| byte.is_ascii_digit()) {
        if plain.len() > 1 && plain.starts_with('0') { parse_integer(&plain, 8) } else { plain.parse().ok() }
    } else {
        parse_decimal(&plain)
    };
    absolute.map(|absolute| sign * absolute)
}

fn parse_integer(digits: &str, radix: u32) -> Option<f64> {
    u64::from_str_radix(digits, radix).ok().map(|number| number as f64)
}

/// A number with a point, and an exponent with a sign.
fn parse_decimal(text: &str) -> Option<f64> {
    let (mantissa, exponent) = text.split_once(['e', 'E']).map_or((text, None), |(m, e)| (m, Some(e)));
    let (whole, fraction) = mantissa.split_once('.')?;
    let is_mantissa =
        whole.bytes().chain(fraction.bytes()).all(|byte| byte.is_ascii_digit()) && mantissa.len() > 1;
    let is_exponent =
        exponent.is_none_or(|exponent| exponent.strip_prefix(['-', '+']).is_some_and(is_all_digits));
    if is_mantissa && is_exponent { text.parse().ok() } else { None }
}

/// `1:30` is 90 in YAML 1.1.
fn parse_sexagesimal(text: &str) -> Option<f64> {
    let mut parts = text.split(':');
    let first: f64 = parts.next()?.parse::<u32>().ok()?.into();
    let mut parts = parts.peekable();
    let mut sum = first;
    while let Some(part) = parts.next() {
        let (whole, fraction) = part.split_once('.').unwrap_or((part, ""));
        let is_part = (1..=2).contains(&whole.len()) && fraction.bytes().all(|byte| byte.is_ascii_digit());
        if !is_part || (part.contains('.') && parts.peek().is_some()) {
            return None;
        }
        let value: f64 = part.parse().ok().filter(|value| (0.0..60.0).contains(value))?;
        sum = sum * 60.0 + value;
    }
    Some(sum)
}

#[cfg(test)]
mod tests {
    use super::{number, parse_yaml_documents};
    use serde_json::json;

    #[test]
    fn numbers_are_those_of_pyyaml() {
        let numbers = [
            ("1_000_000", 1e6),
            ("0x1F", 31.0),
            ("0b101", 5.0),
            ("010", 8.0),
            ("-7", -7.0),
            ("+0.5", 0.5),
            (".5", 0.5),
            ("1.", 1.0),
            ("1.0e-05", 1e-5),
            ("1.5e+3", 1500.0),
            ("1:30", 90.0),
            ("1:30:02.5", 5402.5),
        ];
        for (text, expected) in numbers {
            assert_eq!(number(text), Some(expected), "{text}");
        }
        for text in
            ["1e-3", "1e5", "1.0e5", "09", "1.2.3", "2024-01-01", "inf", "1:99", "0xg", "-", ".", "12:x"]
        {
            assert_eq!(number(text), None, "{text}");
        }
    }

    #[test]
    fn a_text_of_yaml_is_what_pyyaml_loads() {
        let text = "base: &b\n  lr: 0.1\n  note: |\n    lr: 5\n    more\nown:\n  <<: *b\n  lr: 0.2\n  deep: {a: yes, 'b c': [1, {d: null}]}\nlist:\n- *b\n- 3\nquoted: \"7\"\nkey: !!str 7\n";
        let documents = parse_yaml_documents(text).expect("this is YAML");
        let base = json!({"lr": 0.1, "note": "lr: 5\nmore\n"});
        let own = json!({"lr": 0.2, "note": "lr: 5\nmore\n", "deep": {"a": true, "b c": [1, {"d": null}]}});
        let expected = json!({"base": base, "own": own, "list": [base, 3], "quoted": "7", "key": "7"});
        assert_eq!(documents[0].to_json(), expected);
        assert_eq!(parse_yaml_documents("a: 1\n---\nb: 2\n").expect("two documents").len(), 2);
    }

    #[test]
    fn what_is_no_yaml_or_would_not_fit_is_refused() {
        let laughs = "a: &a [x,x,x,x,x,x,x,x,x]\n".to_owned()
            + &(0..9u8)
                .map(|n| {
                    let (own, last) = (char::from(b'b' + n), char::from(b'a' + n));
                    format!("{own}: &{own} [*{last},*{last},*{last},*{last},*{last},*{last}]\n")
                })
                .collect::<String>();
        for text in [&laughs, "a: &a [*a]\n", &"[".repeat(500), "a: [1, 2\nb: 3\n", "a: *nowhere\n"] {
            assert!(parse_yaml_documents(text).is_err(), "{}", &text[..text.len().min(20)]);
        }
    }
}
