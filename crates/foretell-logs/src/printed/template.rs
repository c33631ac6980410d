//! Line templates, as `init` writes them and messages propose them.

/// A template of `line` for the number behind `label`, as short as it can be.
pub(crate) fn of_line(line: &str, label: &str) -> String {
    let text = super::text::to_plain_line(line.as_bytes()).text.into_owned();
    let Some(at) = text.find(label) else { return format!("{label} {{value}}") };
    let behind = &text[at + label.len()..];
    let sign: String =
        behind.chars().take_while(|c| !c.is_ascii_digit() && !"+-.".contains(*c)).take(6).collect();
    let before = text[..at].rsplit([',', ';', '|', '\t']).next().unwrap_or_default().trim_start();
    let before = if before.chars().any(|c| c.is_ascii_digit()) { "" } else { before };
    format!("{before}{label}{sign}{{value}}")
}

/// How much of a line is proposed as a template.
const MAX_TEMPLATE_LENGTH: usize = 80;

/// A template of `line` that distinguishes it from lines with the same label.
pub(crate) fn distinguishing_template(line: &str, label: &str) -> String {
    let whole = whole_line_template(line, label).filter(|template| template.len() <= MAX_TEMPLATE_LENGTH);
    whole.unwrap_or_else(|| of_line(line, label))
}

/// A template of a whole `line`: its other numbers are left open.
pub(crate) fn whole_line_template(line: &str, label: &str) -> Option<String> {
    let text = super::text::to_plain_line(line.as_bytes()).text.into_owned();
    let at = text.find(label)?;
    let (mut template, mut end) = (String::new(), 0);
    for token in super::number::tokens(&text) {
        template.push_str(&text[end..token.start]);
        end = token.end;
        if token.start >= at + label.len() {
            return Some(template.trim_start().to_owned() + "{value}");
        }
        template.push_str("{}");
    }
    None
}
