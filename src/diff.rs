//! Differences between two texts, line by line.

use partita::ir::diag::Style;
use similar::{ChangeTag, DiffTag, TextDiff};

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

/// A stretch of lines that both texts have, or that stand for one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hunk {
    pub equal: bool,
    /// First line and number of lines, from 0, before and after.
    pub before: (usize, usize),
    pub after: (usize, usize),
}

/// Lines of two texts together above which only the common beginning and end are told apart from the rest: an exact
/// answer takes time that grows with the square.
const EXACT: usize = 12_000;

/// The stretches of two texts in order.
pub fn hunks(before: &str, after: &str) -> Vec<Hunk> {
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    if old.len() + new.len() <= EXACT {
        let diff = TextDiff::from_slices(&old, &new);
        let hunk = |op: &similar::DiffOp| {
            let (tag, before, after) = op.as_tag_tuple();
            let size = |range: std::ops::Range<usize>| (range.start, range.len());
            Hunk { equal: tag == DiffTag::Equal, before: size(before), after: size(after) }
        };
        return diff.ops().iter().map(hunk).collect();
    }
    let common = |mut pairs: &mut dyn Iterator<Item = (&&str, &&str)>| {
        (&mut pairs).take_while(|(old, new)| old == new).count()
    };
    let head = common(&mut old.iter().zip(&new));
    let (old_rest, new_rest) = (&old[head..], &new[head..]);
    let tail = common(&mut old_rest.iter().rev().zip(new_rest.iter().rev()));
    let (old_len, new_len) = (old_rest.len() - tail, new_rest.len() - tail);
    let equal =
        |at: (usize, usize), len| Hunk { equal: true, before: (at.0, len), after: (at.1, len) };
    let changed = Hunk { equal: false, before: (head, old_len), after: (head, new_len) };
    let all = [equal((0, 0), head), changed, equal((head + old_len, head + new_len), tail)];
    all.into_iter().filter(|hunk| hunk.before.1 + hunk.after.1 > 0).collect()
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
    fn stretches_cover_both_texts_whatever_their_size() {
        let text = |marks: &[usize], lines: usize| -> String {
            (0..lines)
                .map(|n| format!("{n}{}\n", if marks.contains(&n) { "!" } else { "" }))
                .collect()
        };
        for lines in [10, EXACT] {
            let (old, new) = (text(&[], lines), text(&[3, 5], lines) + "end\n");
            let found = hunks(&old, &new);
            let (mut before, mut after) = (0, 0);
            for hunk in &found {
                assert_eq!((hunk.before.0, hunk.after.0), (before, after));
                (before, after) = (before + hunk.before.1, after + hunk.after.1);
                assert!(!hunk.equal || hunk.before.1 == hunk.after.1);
            }
            assert_eq!((before, after), (lines, lines + 1));
            assert_eq!(found[0], Hunk { equal: true, before: (0, 3), after: (0, 3) });
            assert!(!found[1].equal);
        }
        assert!(hunks("", "").is_empty());
    }

    #[test]
    fn equal_texts_have_no_diff() {
        assert_eq!(unified("a\n", "a\n", ("old", "new"), Style::Color), "");
    }
}
