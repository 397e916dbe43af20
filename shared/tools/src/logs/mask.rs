//! What varies inside one word of a log message: numbers, ids, addresses and times become `<*>`, their
//! surroundings stay.

/// Stands for what varies.
pub const VARIABLE: &str = "<*>";

/// Letters after a number that are its unit and stay: `30ms` becomes `<*>ms`.
const MAX_UNIT_LETTERS: usize = 3;

/// Appends `word` to `out` with its variable parts replaced.
pub fn word(word: &str, out: &mut String) {
    if !word.bytes().any(|b| b.is_ascii_digit()) {
        out.push_str(word);
        return;
    }
    let mut rest = word;
    let mut parts = Parts { out, variable_end: None };
    while let Some(first) = rest.chars().next() {
        let length = if is_uuid(rest) {
            parts.variable(VARIABLE);
            UUID_LENGTH
        } else if first.is_ascii_alphanumeric() {
            let run = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
            parts.run(&rest[..run]);
            run
        } else {
            // The sign of a number varies with it.
            let signed = matches!(first, '-' | '+')
                && rest[1..].starts_with(|c: char| c.is_ascii_digit())
                && !parts.out.ends_with(|c: char| c.is_ascii_alphanumeric() || c == '>');
            if !signed {
                parts.out.push(first);
            }
            first.len_utf8()
        };
        rest = &rest[length..];
    }
}

const UUID_LENGTH: usize = 36;

fn is_uuid(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() >= UUID_LENGTH
        && bytes[..UUID_LENGTH].iter().enumerate().all(|(i, b)| match i {
            8 | 13 | 18 | 23 => *b == b'-',
            _ => b.is_ascii_hexdigit(),
        })
        && !bytes.get(UUID_LENGTH).is_some_and(u8::is_ascii_alphanumeric)
}

struct Parts<'o> {
    out: &'o mut String,
    /// Where the last variable ended, to join `10.42.6.101:80` and `06:05:00.123` to one.
    variable_end: Option<usize>,
}

impl Parts<'_> {
    fn run(&mut self, run: &str) {
        match kind(run) {
            Run::Literal => self.out.push_str(run),
            Run::Variable => self.variable(VARIABLE),
            Run::Number { unit } => {
                self.variable(VARIABLE);
                self.out.push_str(unit);
            }
            Run::Numbered { name } => {
                self.out.push_str(name);
                self.variable(VARIABLE);
            }
        }
    }

    fn variable(&mut self, text: &str) {
        if let Some(end) = self.variable_end
            && matches!(&self.out[end..], "." | ":" | "-" | "/" | "")
        {
            self.out.truncate(end);
        } else {
            self.out.push_str(text);
        }
        self.variable_end = Some(self.out.len());
    }
}

enum Run<'a> {
    Literal,
    Variable,
    /// `30ms`
    Number {
        unit: &'a str,
    },
    /// `conn167`
    Numbered {
        name: &'a str,
    },
}

fn kind(run: &str) -> Run<'_> {
    let digits = run.bytes().filter(u8::is_ascii_digit).count();
    if digits == 0 {
        return Run::Literal;
    }
    let leading = run.bytes().take_while(u8::is_ascii_digit).count();
    let unit = &run[leading..];
    if leading == digits && unit.len() <= MAX_UNIT_LETTERS {
        // `5xx` and `4xx` are names of classes.
        return if unit == "xx" { Run::Literal } else { Run::Number { unit } };
    }
    let hex = run.bytes().all(|b| b.is_ascii_hexdigit());
    if leading > 0 || (hex && run.len() >= 7) {
        return Run::Variable;
    }
    let name_length = run.find(|c: char| c.is_ascii_digit()).unwrap_or(run.len());
    if name_length + digits == run.len() {
        // `p99`, `v2` and `h2` are names.
        return if digits >= 3 { Run::Numbered { name: &run[..name_length] } } else { Run::Literal };
    }
    if run.len() >= 5 { Run::Variable } else { Run::Literal }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_varies_is_masked_and_names_stay() {
        let table = [
            ("order=88041305", "order=<*>"),
            ("30000ms", "<*>ms"),
            ("p99=967", "p99=<*>"),
            ("HikariPool-1", "HikariPool-<*>"),
            ("5xx", "5xx"),
            ("10.42.6.101:52144:", "<*>:"),
            ("2026-11-30T06:05:00Z", "<*>Z"),
            ("0190b3c4-7abc-7000-8000-c11111111111,", "<*>,"),
            ("20e9f5626f57b106", "<*>"),
            ("a19c0897.webp:", "<*>.webp:"),
            ("u622085", "u<*>"),
            ("conn167,", "conn<*>,"),
            ("acquirer-b", "acquirer-b"),
            ("http://feature-flags.internal/v1/flags:", "http://feature-flags.internal/v1/flags:"),
            ("订单88041305支付超时", "订单<*>支付超时"),
            ("540->180", "<*>-><*>"),
            ("GATEWAY_TIMEOUT", "GATEWAY_TIMEOUT"),
            ("pricing.promotion_client.timeout_ms=8", "pricing.promotion_client.timeout_ms=<*>"),
        ];
        for (text, masked) in table {
            let mut out = String::new();
            word(text, &mut out);
            assert_eq!(out, masked, "{text}");
        }
    }
}
