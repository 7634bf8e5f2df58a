//! Finds the files of a patch.

/// The beginnings of the lines that name a file.
const HEADS: &[&str] = &["*** Add File:", "*** Update File:", "*** Delete File:", "*** Move to:"];

/// Returns the files that a patch names, each once. A line of content that looks like such a line counts, too:
/// better one file too many than one that nobody notices.
pub(super) fn files(patch: &str) -> Vec<&str> {
    let mut files: Vec<&str> = Vec::new();
    for line in patch.lines().map(str::trim) {
        let named = HEADS.iter().find_map(|head| line.strip_prefix(head)).map(str::trim);
        files.extend(named.filter(|file| !files.contains(file)));
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_that_may_name_a_file_counts() {
        let patch = "*** Begin Patch\r\n*** Update File: a b.rs\r\n*** Move to:  c.rs\n@@\n *** Delete File: d\n+*** Add File: e\n*** Update File: a b.rs\n*** End Patch";
        assert_eq!(files(patch), ["a b.rs", "c.rs", "d"]);
        assert!(files("*** Begin Patch\n*** End Patch").is_empty());
    }
}
