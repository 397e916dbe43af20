//! Lines of a file in bounded memory: an over-long line is cut, the rest of it skipped.

use std::io::{self, BufRead};

/// Bytes of one line that are kept.
pub const MAX_LINE_BYTES: usize = 256 * 1024;

/// Reads the next line into `line` without its end. Returns whether there was one.
pub fn next_line(input: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<bool> {
    line.clear();
    let mut any = false;
    loop {
        let available = match input.fill_buf() {
            Ok(available) => available,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        if available.is_empty() {
            break;
        }
        any = true;
        let end = available.iter().position(|b| *b == b'\n');
        let part = &available[..end.unwrap_or(available.len())];
        let room = MAX_LINE_BYTES.saturating_sub(line.len());
        line.extend_from_slice(&part[..part.len().min(room)]);
        let used = end.map_or(available.len(), |end| end + 1);
        input.consume(used);
        if end.is_some() {
            break;
        }
    }
    if line.last() == Some(&b'\r') {
        line.pop();
    }
    Ok(any)
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use super::*;

    #[test]
    fn lines_of_every_ending_are_read_and_long_ones_cut() {
        let long = "x".repeat(MAX_LINE_BYTES + 10);
        let text = format!("a\r\n\n{long}\nlast");
        let mut input = BufReader::with_capacity(7, text.as_bytes());
        let (mut line, mut lines) = (Vec::new(), Vec::new());
        while next_line(&mut input, &mut line).unwrap() {
            lines.push(String::from_utf8(line.clone()).unwrap());
        }
        assert_eq!(lines, ["a", "", &long[..MAX_LINE_BYTES], "last"]);
    }
}
