//! A run's budget: reserved before the act, settled after it, and never overspent by more than the call in flight.

use serde::{Deserialize, Serialize};

use crate::model::{Role, Usage};

/// What one run may spend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BudgetLimits {
    pub model_calls: u32,
    pub tool_calls: u32,
    pub input_tokens: u64,
    pub output_tokens: u64,
    /// Bytes of tool results shown to the model.
    pub tool_bytes: u64,
}

impl Default for BudgetLimits {
    fn default() -> Self {
        Self {
            model_calls: 12,
            tool_calls: 12,
            input_tokens: 120_000,
            output_tokens: 16_000,
            tool_bytes: 65_536,
        }
    }
}

/// What a run has spent: the ledger's totals.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BudgetUse {
    pub model_calls: u32,
    pub tool_calls: u32,
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub tool_bytes: u64,
}

/// The guards' share, set aside from the first call on, so that a finished draft can always be judged: one repair and two
/// review attempts.
const GUARD_CALLS: u32 = 3;
/// Input tokens set aside for them, at most this share of the whole: one part in four.
const GUARD_INPUT_SHARE: u64 = 4;
/// Output tokens of one review and of one repair (which repeats a whole draft).
const REVIEW_OUTPUT: u64 = 1024;
const REPAIR_OUTPUT: u64 = 3072;
/// Output tokens of one routing reply.
const ROUTE_OUTPUT: u64 = 1024;
/// A reply cut below this many tokens can't hold a report.
const MIN_ANSWER_OUTPUT: u64 = 512;
/// Bytes below which a tool result is not worth asking for.
pub const MIN_OBSERVATION_BYTES: u64 = 1024;
/// One tool result may take an eighth of the run's bytes (8 KiB by default).
const OBSERVATION_SHARE: u64 = 8;

/// A model call that fits: what it set aside, and what its reply may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reservation {
    pub input_tokens: u64,
    /// The call's output limit (`max_tokens`).
    pub max_output_tokens: u64,
}

/// How much of the diagnosis is still affordable, this call included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Affordable {
    /// This call and at least one more after it.
    More,
    /// This call only, and it must be the final answer.
    FinalOnly,
    Nothing,
}

/// The running account.
#[derive(Debug, Clone)]
pub struct Budget {
    limits: BudgetLimits,
    used: BudgetUse,
}

impl Budget {
    pub fn new(limits: BudgetLimits) -> Self {
        Self { limits, used: BudgetUse::default() }
    }

    pub fn used(&self) -> BudgetUse {
        self.used
    }

    pub fn limits(&self) -> BudgetLimits {
        self.limits
    }

    fn calls_left(&self) -> u32 {
        self.limits.model_calls.saturating_sub(self.used.model_calls)
    }

    fn input_left(&self) -> u64 {
        self.limits.input_tokens.saturating_sub(self.used.input_tokens)
    }

    fn output_left(&self) -> u64 {
        self.limits.output_tokens.saturating_sub(self.used.output_tokens)
    }

    fn guard_input(&self) -> u64 {
        self.limits.input_tokens / GUARD_INPUT_SHARE
    }

    fn guard_output(&self) -> u64 {
        (REPAIR_OUTPUT + 2 * REVIEW_OUTPUT).min(self.limits.output_tokens / 2)
    }

    /// What a loop call of about `input_tokens` leaves affordable, the guards' share untouched.
    pub fn affordable(&self, input_tokens: u64) -> Affordable {
        let calls = u64::from(self.calls_left().saturating_sub(GUARD_CALLS));
        // The next call repeats this one's input and adds an observation to it.
        let input = self.input_left().saturating_sub(self.guard_input()) / input_tokens.max(1);
        let output = self.output_left().saturating_sub(self.guard_output()) / MIN_ANSWER_OUTPUT;
        match calls.min(input).min(output) {
            0 => Affordable::Nothing,
            1 => Affordable::FinalOnly,
            _ => Affordable::More,
        }
    }

    /// Sets a call aside, or says that it does not fit. The loop's calls leave the guards' share alone.
    pub fn reserve_model_call(&mut self, role: Role, input_tokens: u64) -> Option<Reservation> {
        let (kept_calls, kept_input, kept_output, wanted) = match role {
            Role::Route => (GUARD_CALLS, self.guard_input(), self.guard_output(), ROUTE_OUTPUT),
            Role::Diagnose | Role::Knowledge => {
                (GUARD_CALLS, self.guard_input(), self.guard_output(), u64::MAX)
            }
            Role::System => (0, 0, 0, ROUTE_OUTPUT),
            // A repaired draft must still be reviewed.
            Role::Repair => (1, 0, REVIEW_OUTPUT.min(self.guard_output() / 2), u64::MAX),
            Role::Review => (0, 0, 0, REVIEW_OUTPUT),
        };
        let output = self.output_left().saturating_sub(kept_output).min(wanted);
        let fits = self.calls_left() > kept_calls
            && self.input_left().saturating_sub(kept_input) >= input_tokens
            && output >= MIN_ANSWER_OUTPUT.min(wanted);
        if !fits {
            return None;
        }
        self.used.model_calls += 1;
        self.used.input_tokens += input_tokens;
        self.used.output_tokens += output;
        Some(Reservation { input_tokens, max_output_tokens: output })
    }

    /// Replaces a reservation by what the call really used; also for a reply that came too late to matter.
    pub fn settle_model_call(&mut self, reserved: Reservation, usage: Usage) {
        // Saturating: a provider's numbers are a stranger's, and a wrapped sum would be a full purse.
        let input = self.used.input_tokens.saturating_sub(reserved.input_tokens);
        self.used.input_tokens = input.saturating_add(usage.input_tokens);
        let output = self.used.output_tokens.saturating_sub(reserved.max_output_tokens);
        self.used.output_tokens = output.saturating_add(usage.output_tokens);
    }

    /// Sets one tool call aside with the bytes its result may take; `waiting` calls of the same round share what is left.
    pub fn reserve_tool_call(&mut self, waiting: u64) -> Option<u64> {
        if self.used.tool_calls >= self.limits.tool_calls {
            return None;
        }
        let left = self.limits.tool_bytes.saturating_sub(self.used.tool_bytes);
        let whole = (self.limits.tool_bytes / OBSERVATION_SHARE).max(MIN_OBSERVATION_BYTES);
        let bytes = whole.min(left / waiting.max(1)).max(MIN_OBSERVATION_BYTES.min(left));
        if bytes < MIN_OBSERVATION_BYTES {
            return None;
        }
        self.used.tool_calls += 1;
        self.used.tool_bytes += bytes;
        Some(bytes)
    }

    pub fn settle_tool_call(&mut self, reserved_bytes: u64, shown_bytes: u64) {
        self.used.tool_bytes =
            self.used.tool_bytes.saturating_sub(reserved_bytes).saturating_add(shown_bytes);
    }

    /// An error observation for a call that was never run still takes its bytes.
    pub fn charge_observation(&mut self, shown_bytes: u64) {
        self.used.tool_bytes = self.used.tool_bytes.saturating_add(shown_bytes);
    }

    /// Whether one more tool call could be set aside.
    pub fn has_tool_call(&self) -> bool {
        self.used.tool_calls < self.limits.tool_calls
            && self.limits.tool_bytes.saturating_sub(self.used.tool_bytes) >= MIN_OBSERVATION_BYTES
    }
}

/// Tokens that `text` probably takes: four ASCII bytes a token, one token for any other character. Errs high for prose.
pub fn estimate_tokens(text: &str) -> u64 {
    let ascii = text.bytes().filter(u8::is_ascii).count() as u64;
    let other = text.chars().filter(|c| !c.is_ascii()).count() as u64;
    ascii.div_ceil(4) + other
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_budget_holds_the_standard_run_and_then_lands_softly() {
        let mut budget = Budget::new(BudgetLimits::default());
        let usage = Usage::counted(2000, 150);
        let route = budget.reserve_model_call(Role::Route, 500).unwrap();
        budget.settle_model_call(route, usage);
        for call in 1..=8 {
            let expected = if call < 8 { Affordable::More } else { Affordable::FinalOnly };
            assert_eq!(budget.affordable(3000), expected, "call {call}");
            let reserved = budget.reserve_model_call(Role::Diagnose, 3000).unwrap();
            budget.settle_model_call(reserved, usage);
        }
        assert_eq!(budget.affordable(3000), Affordable::Nothing);
        assert_eq!(budget.reserve_model_call(Role::Diagnose, 3000), None);
        for role in [Role::Repair, Role::Review, Role::Review] {
            let reserved = budget.reserve_model_call(role, 8000).unwrap();
            budget.settle_model_call(reserved, usage);
        }
        assert_eq!(budget.reserve_model_call(Role::Review, 1), None);
        assert_eq!(budget.used().model_calls, 12);
    }

    #[test]
    fn reservations_are_replaced_by_real_use_even_when_it_is_more() {
        let mut budget = Budget::new(BudgetLimits::default());
        let reserved = budget.reserve_model_call(Role::Diagnose, 100).unwrap();
        budget.settle_model_call(reserved, Usage::counted(90_000, 40));
        assert_eq!(
            budget.used(),
            BudgetUse { model_calls: 1, input_tokens: 90_000, output_tokens: 40, ..BudgetUse::default() }
        );
        assert_eq!(budget.affordable(100), Affordable::Nothing, "the guards' quarter is all that is left");
    }

    #[test]
    fn a_round_shares_the_bytes_that_are_left() {
        let limits = BudgetLimits { tool_bytes: 10_000, tool_calls: 12, ..BudgetLimits::default() };
        let mut budget = Budget::new(limits);
        assert_eq!(budget.reserve_tool_call(2), Some(1250));
        budget.settle_tool_call(1250, 8_200);
        assert_eq!(budget.reserve_tool_call(2), Some(1024));
        assert_eq!(budget.reserve_tool_call(1), None, "less than one observation is left");
        assert!(!budget.has_tool_call());
    }

    #[test]
    fn chinese_costs_a_token_a_character() {
        assert_eq!(estimate_tokens("支付超时"), 4);
        assert_eq!(estimate_tokens("payment timeout."), 4);
    }
}
