//! The nearest match for a name that is not known.

/// The candidate that differs least from `name`, when it differs by little: at
/// most a third of its letters.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // Longer than any name of ours, and the distance costs the square.
    const LONGEST: usize = 40;
    if name.len() > LONGEST {
        return None;
    }
    let lower = name.to_ascii_lowercase();
    candidates
        .into_iter()
        .map(|candidate| (distance(&lower, &candidate.to_ascii_lowercase()), candidate))
        .filter(|&(distance, candidate)| distance <= 1.max(candidate.len() / 3))
        // Of short words nearly all are near; the first letter tells them apart.
        .filter(|(_, candidate)| {
            candidate.len() > 4 || candidate.bytes().next() == lower.bytes().next()
        })
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, candidate)| candidate)
}

/// Insertions, deletions, replacements and swaps of neighbours between two words.
fn distance(a: &str, b: &str) -> usize {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let replace = last[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            row[j] = replace.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before[j - 2] + 1);
            }
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_slips_and_ignores_strangers() {
        let words = ["add", "subtract", "bitwise_and", "maximum", "max"];
        assert_eq!(nearest("substract", words), Some("subtract"));
        assert_eq!(nearest("bitwsie_and", words), Some("bitwise_and"));
        assert_eq!(nearest("Max", words), Some("max"));
        assert_eq!(nearest("frobnicate", words), None);
        assert_eq!(nearest("f64", ["i64", "f32"]), None);
        assert_eq!(distance("ab", "ba"), 1);
        assert_eq!(distance("", "abc"), 3);
    }
}
