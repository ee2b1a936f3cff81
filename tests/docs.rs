//! Every command that the README and the pages of `docs/` show is run, and what they show of its output is there.
//!
//! A fence whose lines begin with `$ ` is a session. What follows a command is its output: `...` and `…` stand for
//! anything, also for lines. A fence with `file=NAME` is a file that the sessions of the page use. Pages are read from
//! top to bottom in a folder of their own, which has the examples.

#[path = "support/command.rs"]
mod command;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use command::{Dir, files};
use partita::interp::Convention;
use partita::interp::conventions::answers;

/// Programs that sessions may call; others are not ours to test.
const RUN: [&str; 3] = ["partita", "printf", "mkdir"];

/// A piece of a page.
enum Block {
    File { name: String, text: String },
    Session(Vec<Step>),
}

/// A command with what the page shows of its output.
struct Step {
    command: String,
    shown: Vec<String>,
}

fn blocks(page: &str) -> Vec<Block> {
    let mut found = Vec::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        let Some(info) = line.trim_start().strip_prefix("```") else { continue };
        let body: Vec<&str> =
            lines.by_ref().take_while(|line| !line.trim_start().starts_with("```")).collect();
        if let Some((_, name)) = info.split_once("file=") {
            let text = body.iter().map(|line| format!("{line}\n")).collect();
            found.push(Block::File { name: name.trim().to_owned(), text });
        } else if body.first().is_some_and(|line| line.starts_with("$ ")) {
            found.push(Block::Session(steps(&body)));
        } else if info == "sh" {
            let own = body.iter().filter_map(|line| line.strip_prefix("cargo run --release -- "));
            let step = |line: &str| Step { command: format!("partita {line}"), shown: Vec::new() };
            found.push(Block::Session(own.map(step).collect()));
        }
    }
    found
}

fn steps(body: &[&str]) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for line in body {
        match (line.strip_prefix("$ "), steps.last_mut()) {
            (Some(command), _) => {
                steps.push(Step { command: command.to_owned(), shown: Vec::new() })
            }
            (None, Some(step)) => step.shown.push((*line).to_owned()),
            (None, None) => {}
        }
    }
    steps
}

/// True when a line has the pieces of the shown one in their order, the outer ones at its ends.
fn fits(shown: &str, line: &str) -> bool {
    let shown = shown.replace('…', "...");
    let mut pieces = shown.split("...");
    let Some(mut rest) = pieces.next().and_then(|first| line.strip_prefix(first)) else {
        return false;
    };
    let mut last = "";
    for piece in pieces {
        let Some(at) = rest.find(piece) else { return false };
        rest = &rest[at + piece.len()..];
        last = piece;
    }
    rest.is_empty() || (shown.contains("...") && (last.is_empty() || line.ends_with(last)))
}

/// The first shown line that the output does not have where it should.
fn missing<'a>(shown: &'a [String], output: &str) -> Option<&'a str> {
    let mut lines = output.lines();
    let mut gap = true;
    for line in shown {
        if matches!(line.trim(), "..." | "…") {
            gap = true;
            continue;
        }
        let found = if gap {
            lines.any(|got| fits(line, got))
        } else {
            lines.next().is_some_and(|got| fits(line, got))
        };
        if !found {
            return Some(line);
        }
        gap = false;
    }
    None
}

fn run_page(page: &Path) {
    let name = page.file_stem().unwrap().to_string_lossy().into_owned();
    let dir = Dir::new(&format!("docs-{name}"));
    let examples = dir.path("examples");
    fs::create_dir_all(&examples).unwrap();
    for entry in fs::read_dir(root().join("examples")).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            continue;
        }
        fs::copy(&path, examples.join(path.file_name().unwrap())).unwrap();
    }
    let bin = Path::new(env!("CARGO_BIN_EXE_partita")).parent().unwrap().to_owned();
    let path = std::env::join_paths(
        [bin].into_iter().chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())),
    );
    let path = path.unwrap();
    for block in blocks(&fs::read_to_string(page).unwrap()) {
        let session = match block {
            Block::Session(session) => session,
            Block::File { name, text } => {
                let file = dir.path(&name);
                fs::create_dir_all(file.parent().unwrap()).unwrap();
                fs::write(file, text).unwrap();
                continue;
            }
        };
        for Step { command, shown } in session {
            if !RUN.contains(&command.split(' ').next().unwrap()) {
                continue;
            }
            let output = Command::new("sh")
                .args(["-c", &command])
                .current_dir(&dir.0)
                .env("PATH", &path)
                .stdin(Stdio::null())
                .output()
                .unwrap();
            let text = String::from_utf8_lossy(&output.stderr).into_owned()
                + &String::from_utf8_lossy(&output.stdout);
            let code = output.status.code();
            let fails = shown
                .iter()
                .any(|line| line.trim_start().starts_with("error") || line.starts_with("FAILED"));
            assert_eq!(code, Some(i32::from(fails)), "{name}: `{command}`:\n{text}");
            if let Some(line) = missing(&shown, &text) {
                panic!("{name}: `{command}` prints no line `{line}` where it is shown:\n{text}");
            }
        }
    }
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn the_readme_shows_what_happens() {
    run_page(&root().join("README.md"));
}

#[test]
fn the_pages_show_what_happens() {
    let pages = files(root().join("docs"), "md");
    assert!(pages.len() >= 9, "{pages:?}");
    std::thread::scope(|scope| {
        for page in &pages {
            scope.spawn(move || run_page(page));
        }
    });
}

#[test]
fn every_page_is_in_the_table_of_contents() {
    let contents = fs::read_to_string(root().join("docs/SUMMARY.md")).unwrap();
    for page in files(root().join("docs"), "md") {
        let name = page.file_name().unwrap().to_string_lossy();
        if name != "SUMMARY.md" {
            assert!(contents.contains(&format!("({name})")), "{name} is not in docs/SUMMARY.md");
        }
    }
}

#[test]
fn shown_lines_stand_for_what_they_leave_out() {
    assert!(fits("a ... c", "a b c") && fits("abc", "abc") && fits("x …", "x y z"));
    assert!(!fits("a ... c", "a b d") && !fits("abc", "abcd") && !fits("b", "abc"));
    let shown = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>();
    assert_eq!(missing(&shown(&["b", "c"]), "a\nb\nc\nd\n"), None);
    let lines = shown(&["a", "c"]);
    assert_eq!(missing(&lines, "a\nb\nc\n"), Some("c"));
    assert_eq!(missing(&shown(&["a", "...", "c"]), "a\nb\nc\n"), None);
}

#[test]
fn every_convention_has_its_row() {
    let page = fs::read_to_string(root().join("docs/conventions.md")).unwrap();
    for convention in Convention::ALL {
        let info = convention.info();
        let row =
            format!("| `{}` | {} | {} |", info.name, info.id, answers(*convention).join(", "));
        assert!(page.contains(&row), "no row `{row}`");
    }
    let rows = page.lines().filter(|line| line.starts_with("| `")).count();
    assert_eq!(rows, Convention::ALL.len());
    let numbers = (1..=62).map(|number| format!("OQ-{number}"));
    let missing: Vec<String> = numbers.filter(|number| !mentions(&page, number)).collect();
    // Members of the two ranges.
    assert_eq!(missing, ["OQ-45", "OQ-46", "OQ-47", "OQ-48", "OQ-53", "OQ-54"]);
}

/// Whether a text has a number that does not go on.
fn mentions(page: &str, number: &str) -> bool {
    page.match_indices(number)
        .any(|(at, _)| !page[at + number.len()..].starts_with(|next: char| next.is_ascii_digit()))
}
