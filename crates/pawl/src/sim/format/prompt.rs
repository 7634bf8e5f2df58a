//! Reads prompts from standard input.

use std::io::{self, BufRead, BufReader, Read};

/// Reads all of it. An empty input is no prompt.
pub(super) fn whole(input: &mut impl Read) -> Result<String, String> {
    let mut bytes = Vec::new();
    input.read_to_end(&mut bytes).map_err(|cause| unread(&cause))?;
    if bytes.is_empty() {
        return Err("Input must be provided either through stdin or as a prompt argument when using --print"
            .to_owned());
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Reads one line. Whatever follows it may be lost.
pub(super) fn line(input: &mut impl Read) -> Result<Vec<u8>, String> {
    let mut line = Vec::new();
    BufReader::new(input).read_until(b'\n', &mut line).map_err(|cause| unread(&cause))?;
    Ok(line)
}

fn unread(cause: &io::Error) -> String {
    format!("cannot read the prompt: {cause}")
}
