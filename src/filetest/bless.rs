//! Writing what commands printed as the expectations of a file.

use std::collections::BTreeMap;

use super::case::{Case, TestFile};

/// The text of a file with new expectations: for each case by number, outputs by the number of the command. Of a case
/// that is named, sections that belong to no command go; other cases stay as they are.
pub fn blessed(file: &TestFile, outputs: &BTreeMap<usize, BTreeMap<usize, String>>) -> String {
    let lines: Vec<&str> = file.text.lines().collect();
    let mut text = String::new();
    let mut at = 0;
    for (number, case) in file.cases.iter().enumerate() {
        let Some(new) = outputs.get(&number) else { continue };
        push(&mut text, &lines[at..case.sections_from]);
        let body_end = text.trim_end().len();
        text.truncate(body_end);
        text.push('\n');
        text.push_str(&sections(file, case, new));
        at = case.lines.end;
        if at < lines.len() {
            text.push('\n');
        }
    }
    push(&mut text, &lines[at..]);
    text
}

fn push(text: &mut String, lines: &[&str]) {
    for line in lines {
        text.push_str(line);
        text.push('\n');
    }
}

fn sections(file: &TestFile, case: &Case, new: &BTreeMap<usize, String>) -> String {
    let marker = file.kind.comment;
    let mut text = String::new();
    for (number, command) in case.commands.iter().enumerate() {
        let body = new.get(&number).map(String::as_str).or_else(|| case.expectation(command));
        let Some(body) = body.filter(|_| command.has_golden()) else { continue };
        text += &format!("{marker} ---- {}\n", case.title(command));
        for line in body.lines() {
            text += &format!("{marker} {line}\n");
        }
    }
    text
}
