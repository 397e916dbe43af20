//! Prices by model: a table of our own, and a user's over it.

use std::collections::BTreeMap;
use std::path::Path;

use llm::Price;

const OWN: &str = include_str!("../../prices.toml");

#[derive(Debug, Clone, Default)]
pub struct Prices(BTreeMap<String, Price>);

/// Why a table can't be used.
#[derive(Debug, thiserror::Error)]
pub enum InvalidPrices {
    #[error("the file can't be read: {0}")]
    Unreadable(#[from] std::io::Error),
    #[error(
        "the file is no table of prices (`[\"model\"]` with `input`, `output` and, if there is one, `cached_input`): {0}"
    )]
    Malformed(#[from] toml::de::Error),
    #[error("a price of {0:?} is no sum of money; prices are US dollars per million tokens")]
    NoMoney(String),
}

impl Prices {
    /// The embedded table, and the entries of `path` over it.
    pub fn load(path: Option<&Path>) -> Result<Self, InvalidPrices> {
        let mut prices: BTreeMap<String, Price> = toml::from_str(OWN)?;
        if let Some(path) = path {
            prices.extend(toml::from_str::<BTreeMap<String, Price>>(&std::fs::read_to_string(path)?)?);
        }
        match prices.iter().find(|(_, price)| !price.is_valid()) {
            Some((name, _)) => Err(InvalidPrices::NoMoney(name.clone())),
            None => Ok(Self(prices)),
        }
    }

    /// The price of a model, whatever gateway's prefix or version's date its name has.
    pub fn of(&self, model: &str) -> Option<Price> {
        let exact = || self.0.get(model);
        let bare = model.rsplit('/').next().unwrap_or(model);
        let versioned = || {
            self.0
                .iter()
                .filter(|(name, _)| is_version_of(bare, name))
                .max_by_key(|(name, _)| name.len())
                .map(|(_, p)| p)
        };
        exact().or_else(versioned).copied()
    }
}

/// The name itself, or with a date or `-latest` after it: `gpt-5.1` and `gpt-5-mini` are no versions of `gpt-5`.
fn is_version_of(model: &str, name: &str) -> bool {
    let Some(rest) = model.strip_prefix(name) else { return false };
    let dated = |rest: &str| rest.len() >= 8 && rest.bytes().all(|b| b.is_ascii_digit() || b == b'-');
    rest.is_empty() || rest == "-latest" || rest.strip_prefix(['-', '@']).is_some_and(dated)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn a_model_is_found_by_name_version_and_gateway_prefix() {
        let prices = Prices::load(None).unwrap();
        let mini = prices.of("gpt-4.1-mini").unwrap();
        for same in ["gpt-4.1-mini-2025-04-14", "openai/gpt-4.1-mini", "gpt-4.1-mini-latest"] {
            assert_eq!(prices.of(same), Some(mini), "{same}");
        }
        assert_ne!(prices.of("gpt-4.1"), Some(mini));
        for unknown in
            ["gpt-5.1", "gpt-5-codex", "gpt-4o-audio-preview", "", "my-model", "claude-sonnet-4-50"]
        {
            assert_eq!(prices.of(unknown), None, "{unknown}");
        }
    }

    #[test]
    fn a_users_table_extends_and_replaces() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        write!(file, "[\"my/model\"]\ninput = 1\noutput = 2\n[\"gpt-5\"]\ninput = 9\noutput = 9\n").unwrap();
        let prices = Prices::load(Some(file.path())).unwrap();
        assert_eq!(prices.of("my/model").map(|price| price.output), Some(2.0));
        assert_eq!(prices.of("gpt-5").map(|price| price.input), Some(9.0));
        assert!(prices.of("gpt-4o").is_some());
        for (text, what) in
            [("[x]\ninput = 1\n", "no table of prices"), ("[x]\ninput = -1\noutput = 1\n", "no sum of money")]
        {
            std::fs::write(file.path(), text).unwrap();
            assert!(Prices::load(Some(file.path())).unwrap_err().to_string().contains(what));
        }
        assert!(Prices::load(Some(Path::new("/nonexistent/prices.toml"))).is_err());
    }
}
