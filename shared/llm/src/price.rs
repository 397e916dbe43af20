//! What tokens cost.

use domain::model::Usage;

/// US dollars per million tokens, as providers list them.
#[derive(Debug, Clone, Copy, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    pub input: f64,
    /// Input that the provider's cache served; the price of other input where none is listed.
    pub cached_input: Option<f64>,
    pub output: f64,
}

/// Billionths of a dollar in a price per million tokens, for one token.
const NANO_PER_TOKEN: f64 = 1_000.0;

impl Price {
    /// Whether every part is a sum of money.
    pub fn is_valid(&self) -> bool {
        let parts = [self.input, self.output, self.cached_input.unwrap_or_default()];
        parts.iter().all(|part| part.is_finite() && (0.0..1e6).contains(part))
    }

    /// The cost of a call in billionths of a dollar, to the nearest.
    pub fn of(&self, usage: Usage) -> u64 {
        let cached = usage.cached_tokens.min(usage.input_tokens);
        let fresh = usage.input_tokens - cached;
        let dollars_per_million = fresh as f64 * self.input
            + cached as f64 * self.cached_input.unwrap_or(self.input)
            + usage.output_tokens as f64 * self.output;
        (dollars_per_million * NANO_PER_TOKEN).round() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cached_input_has_its_own_price_and_reasoning_is_output() {
        let price = Price { input: 0.4, cached_input: Some(0.1), output: 1.6 };
        let usage = Usage { cached_tokens: 900, reasoning_tokens: 50, ..Usage::counted(1000, 100) };
        assert_eq!(price.of(usage), 100 * 400 + 900 * 100 + 100 * 1600);
        let without = Price { cached_input: None, ..price };
        assert_eq!(without.of(usage), 1000 * 400 + 100 * 1600);
        // More served by the cache than was sent is a provider's mistake.
        assert_eq!(price.of(Usage { cached_tokens: 5000, ..Usage::counted(1000, 0) }), 100_000);
        assert_eq!(price.of(Usage::default()), 0);
    }

    #[test]
    fn what_is_no_sum_of_money_is_told() {
        let price = Price { input: 1.0, cached_input: None, output: 2.0 };
        assert!(price.is_valid());
        for wrong in [f64::NAN, -1.0, f64::INFINITY, 1e9] {
            assert!(!Price { output: wrong, ..price }.is_valid());
        }
    }
}
