//! The page itself.

use super::Data;
use crate::failure::{Failure, Outcome};

const PAGE: &str = include_str!("assets/page.html");
const STYLE: &str = include_str!("assets/style.css");

/// The script, in the order in which its parts need one another.
const SCRIPT: &[&str] = &[
    include_str!("assets/core.js"),
    include_str!("assets/lists.js"),
    include_str!("assets/passes.js"),
    include_str!("assets/source.js"),
    include_str!("assets/graph.js"),
    include_str!("assets/charts.js"),
    include_str!("assets/tiles.js"),
    include_str!("assets/timeline.js"),
    include_str!("assets/words.js"),
    include_str!("assets/main.js"),
];

/// The whole page.
///
/// # Errors
/// None that data of this shape can meet.
pub fn page(data: &Data) -> Outcome<String> {
    let json = script_safe(&serde_json::to_string(data).map_err(Failure::message)?);
    let script = format!("\"use strict\";\n(() => {{\n{}}})();\n", SCRIPT.concat());
    let title = html(&format!("{}: Partita report", data.file));
    Ok(filled(PAGE, &[("title", &title), ("style", STYLE), ("data", &json), ("script", &script)]))
}

/// A template with each `{{name}}` replaced; what is put in is not looked at again.
fn filled(template: &str, parts: &[(&str, &str)]) -> String {
    let mut out = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("{{") {
        out.push_str(before);
        let (name, after) = after.split_once("}}").unwrap_or((after, ""));
        let part = parts.iter().find(|(known, _)| *known == name);
        out.push_str(part.map_or("", |(_, text)| text));
        rest = after;
    }
    out + rest
}

/// JSON as it can stand in a script element: nothing in it ends the element or begins a comment.
fn script_safe(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            '<' => out.push_str("\\u003c"),
            '>' => out.push_str("\\u003e"),
            '&' => out.push_str("\\u0026"),
            '\u{2028}' => out.push_str("\\u2028"),
            '\u{2029}' => out.push_str("\\u2029"),
            c => out.push(c),
        }
    }
    out
}

/// A text as it can stand in markup.
fn html(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_the_data_ends_its_element() {
        let hostile = serde_json::to_string("</script><!--<script>&\u{2028}").unwrap();
        let safe = script_safe(&hostile);
        assert!(!safe.contains(['<', '>', '&', '\u{2028}']), "{safe}");
        let back: String = serde_json::from_str(&safe).unwrap();
        assert_eq!(back, "</script><!--<script>&\u{2028}");
    }

    #[test]
    fn what_is_filled_in_is_not_filled_again() {
        let parts = [("a", "{{b}}"), ("b", "no")];
        assert_eq!(filled("<{{a}}|{{b}}|{{c}}>", &parts), "<{{b}}|no|>");
    }
}
