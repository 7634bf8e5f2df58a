//! Finds code and comments within a paragraph.

use std::collections::BTreeMap;
use std::ops::Range;

/// Returns the code spans and comments of a paragraph, in order.
pub(super) fn of(paragraph: &str) -> Vec<Range<usize>> {
    let runs = Runs::of(paragraph);
    let bytes = paragraph.as_bytes();
    let (mut found, mut at) = (Vec::new(), 0);
    // Once a search finds no closing tag, later searches cannot find one either.
    let (mut has_comments, mut has_code) = (true, true);
    while let Some(byte) = bytes.get(at) {
        let rest = paragraph.get(at..).unwrap_or_default();
        let end = match byte {
            // An escaped character opens nothing.
            b'\\' => {
                at += if bytes.get(at + 1).is_some_and(u8::is_ascii_punctuation) { 2 } else { 1 };
                continue;
            }
            b'`' => {
                let length = bytes.iter().skip(at).take_while(|byte| **byte == b'`').count();
                match runs.closing(at, length) {
                    Some(end) => Some(end),
                    None => {
                        at += length;
                        continue;
                    }
                }
            }
            b'<' if has_comments && rest.starts_with("<!--") => {
                let end = rest.find("-->").map(|end| at + end + 3);
                has_comments = end.is_some();
                end
            }
            b'<' if has_code && rest.get(..6).is_some_and(|tag| tag.eq_ignore_ascii_case("<code>")) => {
                let end = find_ignoring_case(rest, "</code>").map(|end| at + end + 7);
                has_code = end.is_some();
                end
            }
            _ => None,
        };
        match end {
            Some(end) => {
                found.push(at..end);
                at = end;
            }
            None => at += 1,
        }
    }
    found
}

fn find_ignoring_case(text: &str, part: &str) -> Option<usize> {
    text.as_bytes().windows(part.len()).position(|piece| piece.eq_ignore_ascii_case(part.as_bytes()))
}

/// The positions of runs of backticks, by their length.
struct Runs(BTreeMap<usize, Vec<usize>>);

impl Runs {
    fn of(paragraph: &str) -> Runs {
        let mut runs: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        let (mut start, mut length) = (0, 0);
        for (at, byte) in paragraph.bytes().chain([b'\n']).enumerate() {
            if byte == b'`' {
                if length == 0 {
                    start = at;
                }
                length += 1;
            } else if length > 0 {
                runs.entry(length).or_default().push(start);
                length = 0;
            }
        }
        Runs(runs)
    }

    /// Returns the end of the code span that a run of backticks opens.
    fn closing(&self, at: usize, length: usize) -> Option<usize> {
        let same = self.0.get(&length)?;
        let next = same.partition_point(|start| *start < at + length);
        same.get(next).map(|start| start + length)
    }
}
