//! Differences between two texts, line by line.

use partita::ir::diag::Style;
use similar::{ChangeTag, TextDiff};

/// Lines around a change that are shown with it.
const CONTEXT: usize = 3;

/// A unified diff; empty for equal texts. The names stand for the two texts.
pub fn unified(before: &str, after: &str, names: (&str, &str), style: Style) -> String {
    let diff = TextDiff::from_lines(before, after);
    let text = diff.unified_diff().context_radius(CONTEXT).header(names.0, names.1).to_string();
    match style {
        Style::Plain => text,
        Style::Color => text.split_inclusive('\n').map(colored).collect(),
    }
}

fn colored(line: &str) -> String {
    let (body, end) = match line.strip_suffix('\n') {
        Some(body) => (body, "\n"),
        None => (line, ""),
    };
    let code = match line.as_bytes() {
        [b'+', b'+', b'+', ..] | [b'-', b'-', b'-', ..] => "1",
        [b'+', ..] => "32",
        [b'-', ..] => "31",
        [b'@', ..] => "36",
        _ => return line.to_owned(),
    };
    format!("\u{1b}[{code}m{body}\u{1b}[0m{end}")
}

/// How many lines were added and removed.
pub fn changed_lines(before: &str, after: &str) -> (usize, usize) {
    let diff = TextDiff::from_lines(before, after);
    let count = |tag| diff.iter_all_changes().filter(|change| change.tag() == tag).count();
    (count(ChangeTag::Insert), count(ChangeTag::Delete))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diff_shows_what_changed_with_its_surroundings() {
        let text = unified("a\nb\nc\n", "a\nx\nc\n", ("old", "new"), Style::Plain);
        assert_eq!(text, "--- old\n+++ new\n@@ -1,3 +1,3 @@\n a\n-b\n+x\n c\n");
        assert_eq!(changed_lines("a\nb\nc\n", "a\nx\nc\ny\n"), (2, 1));
    }

    #[test]
    fn equal_texts_have_no_diff() {
        assert_eq!(unified("a\n", "a\n", ("old", "new"), Style::Color), "");
    }
}
